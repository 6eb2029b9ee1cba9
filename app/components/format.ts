/** How amounts and times are written on the screens. */

export const formatUnits = (units: number): string => units.toLocaleString("en-US");

/** "1 meter", "2 meters"; `many` where another word is not one with an s. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${formatUnits(count)} ${count === 1 ? one : many}`;

const DAY_AND_TIME: Intl.DateTimeFormatOptions = { dateStyle: "medium", timeStyle: "short" };

/** An instant in the reader's own zone. Only after hydration: the server does not know that zone. */
export const formatInstant = (instantMs: number): string =>
  new Date(instantMs).toLocaleString(undefined, DAY_AND_TIME);

const TO_THE_SECOND: Intl.DateTimeFormatOptions = { dateStyle: "medium", timeStyle: "medium" };

/** As formatInstant, with the seconds: rows of one minute are told apart. */
export const formatInstantSeconds = (instantMs: number): string =>
  new Date(instantMs).toLocaleString(undefined, TO_THE_SECOND);

/** A duration in its largest unit, rounded down; "0 s" for anything that is over. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}
