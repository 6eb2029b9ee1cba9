"use client";

import { formatDuration, formatInstant } from "./format.ts";
import { useNow } from "./use-now.ts";

/** Times as the reader's own zone and clock have them. All are empty until the page runs: the server knows neither. */

/** An instant in the reader's zone. */
export function Instant({ ms }: { ms: number }) {
  const isKnown = useNow() !== null;
  return <time dateTime={new Date(ms).toISOString()}>{isKnown ? formatInstant(ms) : ""}</time>;
}

/** How long ago; the instant itself as a tooltip. */
export function Ago({ ms }: { ms: number }) {
  const nowMs = useNow();
  if (nowMs === null) return <time dateTime={new Date(ms).toISOString()} />;
  const ageMs = nowMs - ms;
  return (
    <time dateTime={new Date(ms).toISOString()} title={formatInstant(ms)}>
      {ageMs < 1000 ? "just now" : `${formatDuration(ageMs)} ago`}
    </time>
  );
}

/** The time that is left until an instant; `over` when there is none. */
export function Countdown({ untilMs, over }: { untilMs: number; over: string }) {
  const nowMs = useNow();
  if (nowMs === null) return null;
  return <span className="tabular-nums">{untilMs <= nowMs ? over : formatDuration(untilMs - nowMs)}</span>;
}

/** The name of the reader's zone, such as "Europe/Berlin". */
export function ZoneName() {
  const isKnown = useNow() !== null;
  return isKnown ? new Intl.DateTimeFormat().resolvedOptions().timeZone : null;
}
