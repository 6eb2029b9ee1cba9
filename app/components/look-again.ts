const FIRST_MS = 1_000;

/**
 * When a question whose answer ends at `endMs` is to be asked again, as an instant at or before `nowMs`: at the end,
 * and should the server's clock be behind, 1, 3, 7, 15 … seconds after it. Null before the end.
 */
export function lookAgainAtMs(endMs: number, nowMs: number): number | null {
  const elapsedMs = nowMs - endMs;
  if (elapsedMs < 0) return null;
  return endMs + (2 ** Math.floor(Math.log2(elapsedMs / FIRST_MS + 1)) - 1) * FIRST_MS;
}
