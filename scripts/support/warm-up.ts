import { createHmac } from "node:crypto";
import { createApiClient } from "./api-client.mjs";
import { callAsOperator } from "./convex-call.ts";
import { emptyTally, inParallel, runJob } from "./load-run.mjs";
import { hashApiKey } from "../../lib/server/api-keys.ts";
import type { CallerSecrets } from "./secrets.ts";

/** Jobs at a time, jobs in all (each is five requests), and how long they may take together. */
const LANES = 50;
const JOBS_MAX = 240;
const TIME_MAX_MS = 3_000;

export interface WarmUpOptions {
  readonly webUrl: string;
  readonly convexUrl: string;
  readonly secrets: CallerSecrets;
  readonly signal: AbortSignal;
}

/**
 * Runs real jobs through the whole path before anybody else does: both processes compile their code during the first
 * thousand requests, and a burst that meets them cold waits about twice as long. Requests that are refused would not
 * do, most of the code is behind the refusal. The jobs belong to the installation's own lab account. Nothing depends
 * on them: a failure is told and no more. Returns what happened, in words.
 */
export async function warmUp(options: WarmUpOptions): Promise<string> {
  const { webUrl, signal } = options;
  const client = createApiClient({ url: webUrl, connections: LANES, timeoutMs: TIME_MAX_MS });
  const tally = emptyTally();
  try {
    const token = await openAccount(options);
    const runId = Date.now().toString(36);
    const untilMs = performance.now() + TIME_MAX_MS;
    const isOver = () => signal.aborted || tally.failed > 0 || performance.now() > untilMs;
    const run = (index: number) =>
      runJob(client, tally, { token, key: `warm-up-${runId}-${index}`, estimate: 30, charges: 3 });
    await inParallel(JOBS_MAX, LANES, run, isOver);
  } catch (error) {
    tally.faults.push(error instanceof Error ? error.message : String(error));
  } finally {
    client.close();
  }
  const fault = tally.faults[0];
  return `${tally.started} jobs${fault === undefined ? "" : `, then gave up (${fault})`}`;
}

/** The key of the warm-up account follows from the operator's: the same one at every start, kept nowhere. */
async function openAccount({ convexUrl, secrets, signal }: WarmUpOptions): Promise<string> {
  const token = `hf_live_${createHmac("sha256", secrets.operatorKey).update("warm-up").digest("base64url")}`;
  const own = { keyHashNew: hashApiKey(token), prefix: token.slice(0, 12) };
  await callAsOperator(convexUrl, "mutation", "lab:openWarmUp", own, secrets, signal);
  return token;
}
