/**
 * An ISO 8601 date or date-time as the instant it names, in milliseconds, or null. A date-time needs a zone: without
 * one it would mean another instant on every machine. A bare date is midnight UTC.
 */
export function parseInstant(text: string): number | null {
  const shape = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
  if (!shape.test(text)) return null;
  const instantMs = Date.parse(text);
  return Number.isNaN(instantMs) ? null : instantMs;
}
