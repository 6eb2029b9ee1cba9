export type CronSchedule = { type: string } & Record<string, unknown>;
export function nextRunMs(
  schedule: CronSchedule,
  previousDueMs: number | null,
  nowMs: number,
  _seed: number,
): number {
  const every =
    ((schedule["seconds"] as number) ?? 0) * 1000 +
    ((schedule["minutes"] as number) ?? 0) * 60000 +
    ((schedule["hours"] as number) ?? 0) * 3600000;
  return previousDueMs === null ? nowMs : Math.max(previousDueMs + every, nowMs);
}
