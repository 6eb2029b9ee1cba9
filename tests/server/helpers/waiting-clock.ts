import type { ServerDeps } from "../../../lib/server/deps.ts";

/**
 * A clock for the handlers that goes on only while every caller waits: to the end of the shortest wait. So it measures
 * how long callers were made to wait, however slow the machine is.
 */
export function waitingClock() {
  let nowMs = 0;
  let undecided = 0;
  let waits: { readonly untilMs: number; readonly end: () => void }[] = [];

  const clock: Pick<ServerDeps, "nowMs" | "sleep"> = {
    nowMs: () => nowMs,
    sleep: (ms) => new Promise((end) => waits.push({ untilMs: nowMs + ms, end })),
  };

  function goOn(): void {
    if (waits.length < undecided || waits.length === 0) return;
    nowMs = Math.min(...waits.map(({ untilMs }) => untilMs));
    const ended = waits.filter(({ untilMs }) => untilMs <= nowMs);
    waits = waits.filter(({ untilMs }) => untilMs > nowMs);
    for (const { end } of ended) end();
  }

  return {
    clock,
    /** Runs callers side by side to their answers, each with the time that it took. */
    async runAll<Answer>(callers: readonly (() => Promise<Answer>)[]) {
      undecided = callers.length;
      // What is left are waits that lost their race: nobody is behind them any more.
      waits = [];
      const startedAtMs = nowMs;
      const answers = callers.map(async (ask) => {
        try {
          const answer = await ask();
          return { answer, elapsedMs: nowMs - startedAtMs };
        } finally {
          undecided -= 1;
        }
      });
      const turns = setInterval(goOn, 1);
      return await Promise.all(answers).finally(() => clearInterval(turns));
    },
  };
}
