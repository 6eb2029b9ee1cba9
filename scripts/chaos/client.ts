// What every lane of the load has: the API with a journal, waits that end with the run, and chance.
import { setTimeout as sleep } from "node:timers/promises";
import type { Chance } from "../../lib/simulator/chance.ts";
import type { Journal } from "./journal.ts";
import type { Reply, Sent, Wire } from "./wire.ts";

/** An account that the load uses, with what is needed to use it. */
export interface Customer {
  readonly accountId: string;
  readonly token: string;
  readonly linkUrl: string;
  /** At the provider; null for an account that an operator opened. */
  readonly userId: string | null;
}

export interface Load {
  readonly apiUrl: string;
  readonly wire: Wire;
  readonly journal: Journal;
  /** Aborted when no new work may begin. What was begun goes on to its end. */
  readonly stopping: AbortSignal;
}

/** Longer than any outage of a run; a request that is still unanswered then stays so in the journal. */
const TRY_FOR_MS = 60_000;
const WAIT_FIRST_MS = 40;
const WAIT_MAX_MS = 400;

/**
 * Sends a request that is safe to repeat until it is answered with something else than a failure of the server.
 * Null when that did not happen within a minute. `isPatient` false: the caller gives up after the first try.
 */
export async function sendUntilAnswered(
  { wire }: Load,
  chance: Chance,
  request: Sent,
  isPatient = true,
): Promise<Extract<Reply, { kind: "answered" }> | null> {
  const deadlineMs = performance.now() + TRY_FOR_MS;
  for (let waitMs = WAIT_FIRST_MS; ; waitMs = Math.min(waitMs * 2, WAIT_MAX_MS)) {
    const reply = await wire.send(request);
    // A body that broke off says no more than no answer at all.
    if (reply.kind === "answered" && reply.status < 500 && reply.body !== null) return reply;
    if (!isPatient || performance.now() > deadlineMs) return null;
    await sleep(waitMs * (0.5 + chance.share() / 2));
  }
}

/** Waits between two pieces of work; ends at once when the run stops. */
export async function pause(load: Load, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal: load.stopping }).catch(() => undefined);
}
