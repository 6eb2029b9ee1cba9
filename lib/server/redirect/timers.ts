/** Runs something once, `ms` from now. The answer cancels it. Tests give a hand-driven one. */
export type After = (ms: number, run: () => void) => () => void;

/** The real one. A pending timer keeps the process alive: whoever set it has work to finish. */
export const after: After = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

/** Resolves to the value, or to "late" when it takes longer than `ms`. Rejects when the value does before that. */
export function within<T>(value: Promise<T>, ms: number, after: After): Promise<T | "late"> {
  return new Promise((resolve, reject) => {
    const cancel = after(ms, () => resolve("late"));
    value.then(
      (result) => {
        cancel();
        resolve(result);
      },
      (error: unknown) => {
        cancel();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
