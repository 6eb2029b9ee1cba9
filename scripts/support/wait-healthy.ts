import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "./cli.mjs";

const ASK_EVERY_MS = 100;
const ANSWER_TIMEOUT_MS = 5000;

/**
 * Asks a URL until it answers 200. Throws CliError with the last answer when `timeoutMs` have passed,
 * and stops quietly (resolving false) when `signal` says that waiting has become pointless.
 */
export async function waitHealthy(
  what: string,
  url: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  let last = "no answer";
  while (!signal.aborted) {
    const answer = await ask(url, signal);
    if (answer === "healthy") return true;
    last = answer;
    if (performance.now() > deadline) {
      throw new CliError(`${what} is not healthy after ${Math.round(timeoutMs / 1000)} s (${url}: ${last})`);
    }
    await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

async function ask(url: string, signal: AbortSignal): Promise<string> {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
      redirect: "manual",
    });
    const body = await response.text();
    return response.status === 200 ? "healthy" : `status ${response.status} ${body.slice(0, 300)}`.trim();
  } catch (error) {
    return causeOf(error);
  }
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error && "code" in cause && typeof cause.code === "string") return cause.code;
  return error.message;
}
