import {
  AGENT_CHARS_MAX,
  type ClickClass,
  REFERRER_CHARS_MAX,
  type Served,
  type Verdict,
} from "./classify.ts";

/** Clicks of one batch. A mutation of so many stays well within Convex's limits. */
export const CLICKS_MAX = 100;

/** A rule quotes an agent or a header, both cut; this is well above the longest. */
const RULE_CHARS_MAX = 256;
/** The last instant whose cycle JavaScript dates can name to its end: the year 9999. */
const AT_MS_MAX = 253_402_300_799_999;

const CLASSES: ReadonlySet<string> = new Set<ClickClass>([
  "billable",
  "inactive",
  "head",
  "prefetch",
  "bot",
  "over_cap",
]);
const SERVED: ReadonlySet<string> = new Set<Served>([
  "target",
  "over_cap_target",
  "inactive_page",
  "over_cap_page",
]);

/** A click as a web process sends it. It may come from a spool file that another version wrote. */
export interface SentClick {
  readonly key: string;
  readonly atMs: number;
  readonly served: string;
  readonly class: string;
  readonly rule: string;
  readonly referrer: string | null;
  readonly agent: string | null;
}

export interface CheckedClick {
  readonly key: string;
  readonly atMs: number;
  readonly served: Served;
  readonly seen: Verdict;
  readonly referrer: string | null;
  readonly agent: string | null;
}

/** The click, or null for what this version cannot book. */
export function checkClick(sent: SentClick): CheckedClick | null {
  const { key, atMs, served, rule, referrer, agent } = sent;
  const isClick =
    /^[0-9a-f]{32}$/.test(key) &&
    Number.isSafeInteger(atMs) &&
    atMs >= 0 &&
    atMs <= AT_MS_MAX &&
    SERVED.has(served) &&
    CLASSES.has(sent.class) &&
    rule.length <= RULE_CHARS_MAX &&
    (referrer?.length ?? 0) <= REFERRER_CHARS_MAX &&
    (agent?.length ?? 0) <= AGENT_CHARS_MAX;
  if (!isClick) return null;
  const seen = { class: sent.class as ClickClass, rule };
  return { key, atMs, served: served as Served, seen, referrer, agent };
}
