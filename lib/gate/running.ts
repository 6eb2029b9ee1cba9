/** Running jobs that one answer names. */
export const RUNNING_LISTED_MAX = 100;

/** How many there are, of which as many as an answer names were counted: "100 or more" when it names no more. */
export function countRunning(count: number): string {
  return count < RUNNING_LISTED_MAX ? String(count) : `${RUNNING_LISTED_MAX} or more`;
}
