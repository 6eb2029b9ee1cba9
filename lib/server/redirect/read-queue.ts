import { QUEUE_WAIT_MS_MAX } from "../convex.ts";

/** Reads under way at once. A flood of codes nobody has must not become as many calls to Convex. */
const RUNNING_MAX = 64;
/** Reads waiting behind them. What comes then is refused at once: it would only wait in vain. */
const WAITING_MAX = 1_000;

/** More reads wait than may, or this one has waited longer than it may. */
export class ReadNotSentError extends Error {
  override readonly name = "ReadNotSentError";
  readonly code = "read_not_sent";
}

export interface ReadQueue {
  /**
   * Runs `read` when its turn comes. Throws `ReadNotSentError`, or what `read` throws: within `QUEUE_WAIT_MS_MAX` and
   * the longest that one read takes.
   */
  run<T>(read: () => Promise<T>): Promise<T>;
}

export function createReadQueue(elapsedMs: () => number): ReadQueue {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run(read) {
      const sinceMs = elapsedMs();
      if (running < RUNNING_MAX) running += 1;
      else if (waiting.length >= WAITING_MAX) throw new ReadNotSentError(`${WAITING_MAX} reads wait`);
      // The place of whoever ends goes straight to the first who waits.
      else await new Promise<void>((resolve) => void waiting.push(resolve));
      try {
        const isLate = elapsedMs() - sinceMs > QUEUE_WAIT_MS_MAX;
        if (isLate) throw new ReadNotSentError(`its turn did not come in ${QUEUE_WAIT_MS_MAX} ms`);
        return await read();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else running -= 1;
      }
    },
  };
}
