/** Reads under way at once. A flood of codes nobody has must not become as many calls to Convex. */
const RUNNING_MAX = 64;
/** Reads waiting behind them. What comes then is refused at once: it would only wait in vain. */
const WAITING_MAX = 1_000;

/** More reads wait than may. */
export class ReadQueueFullError extends Error {
  override readonly name = "ReadQueueFullError";
  readonly code = "read_queue_full";
}

export interface ReadQueue {
  /** Runs `read` when its turn comes. Throws `ReadQueueFullError`, or what `read` throws. */
  run<T>(read: () => Promise<T>): Promise<T>;
}

export function createReadQueue(): ReadQueue {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run(read) {
      if (running < RUNNING_MAX) running += 1;
      else if (waiting.length >= WAITING_MAX) throw new ReadQueueFullError(`${WAITING_MAX} reads wait`);
      // The place of whoever ends goes straight to the first who waits.
      else await new Promise<void>((resolve) => void waiting.push(resolve));
      try {
        return await read();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else running -= 1;
      }
    },
  };
}
