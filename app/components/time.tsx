"use client";

import { DAY_MS, MINUTE_MS } from "../../lib/shared/durations.ts";
import { formatDuration, formatInstant, formatInstantSeconds } from "./format.ts";
import { useNow, useNowAs } from "./use-now.ts";

/** Times as the reader's own zone and clock have them. All are empty until the page runs: the server knows neither. */

/** Where there is room for it: on a phone, which has one or two columns, and on a wide screen. */
const ONE_LINE = "whitespace-nowrap md:whitespace-normal xl:whitespace-nowrap";

/** An instant in the reader's zone: one of the last day with its seconds, an older one with them as a tooltip. */
export function Instant({ ms }: { ms: number }) {
  // The page's clock may be behind that of the server; a row that has just come is not to change its looks.
  const isRecent = useNowAs((nowMs) => ms - nowMs < MINUTE_MS && nowMs - ms < DAY_MS);
  const dateTime = new Date(ms).toISOString();
  if (isRecent === null) return <time dateTime={dateTime} />;
  return (
    <time dateTime={dateTime} title={formatInstantSeconds(ms)} className={ONE_LINE}>
      {isRecent ? formatInstantSeconds(ms) : formatInstant(ms)}
    </time>
  );
}

/** How long ago; the instant itself as a tooltip. */
export function Ago({ ms }: { ms: number }) {
  const nowMs = useNow();
  if (nowMs === null) return <time dateTime={new Date(ms).toISOString()} />;
  const ageMs = nowMs - ms;
  return (
    <time dateTime={new Date(ms).toISOString()} title={formatInstantSeconds(ms)} className={ONE_LINE}>
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

/** "in 9 s", counting down; the instant itself as a tooltip, and `over` once it is past. */
export function Until({ ms, over }: { ms: number; over: string }) {
  const nowMs = useNow();
  const dateTime = new Date(ms).toISOString();
  if (nowMs === null) return <time dateTime={dateTime} />;
  return (
    <time dateTime={dateTime} title={formatInstantSeconds(ms)} className="tabular-nums">
      {ms <= nowMs ? over : `in ${formatDuration(ms - nowMs)}`}
    </time>
  );
}

/** The name of the reader's zone, such as "Europe/Berlin". */
export function ZoneName() {
  const isKnown = useNow() !== null;
  return isKnown ? new Intl.DateTimeFormat().resolvedOptions().timeZone : null;
}
