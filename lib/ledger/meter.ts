import { MINUTE_MS } from "../shared/durations.ts";
import { type Cycle, cycleAt } from "./cycle.ts";

/** The metered feature of short links. The other one, `tokens`, is the gate's. */
export const FEATURE_CLICKS = "clicks";

/** What the provider counts on its own: an agreement, a feature and a cycle. Named by these four and nothing else. */
export interface Meter {
  readonly accountId: string;
  /** Null while the account has no agreement: counted here all the same, and sent nowhere. */
  readonly agreementId: string | null;
  readonly feature: string;
  /** The name of the cycle: "2026-10". */
  readonly cycle: string;
}

/** When an agreement was in force: from its first instant up to but not including `untilMs`. */
export interface AgreementSpan {
  readonly agreementId: string;
  readonly fromMs: number;
  /** Null while it is in force. */
  readonly untilMs: number | null;
}

/** What of an account decides the meter of an entry. */
export interface MeteredAccount {
  readonly accountId: string;
  readonly anchorMs: number | null;
  readonly agreements: readonly AgreementSpan[];
}

/** Equal for equal meters, different for different ones. */
export function meterKey({ accountId, agreementId, feature, cycle }: Meter): string {
  return JSON.stringify([accountId, agreementId, feature, cycle]);
}

/**
 * The agreement in force at an instant, null when there was none. A provider replaces an agreement by a new one, and
 * the end of the old may be learnt later than the start of the new: of several in force the one that started last
 * counts, and of those that started together the one with the greater id, so that every order of learning agrees.
 */
export function agreementAt(agreements: readonly AgreementSpan[], atMs: number): string | null {
  let found: AgreementSpan | null = null;
  for (const span of agreements) {
    if (atMs < span.fromMs || (span.untilMs !== null && atMs >= span.untilMs)) continue;
    if (found === null || isLater(span, found)) found = span;
  }
  return found?.agreementId ?? null;
}

/**
 * The provider says by its clock when an agreement starts, and usage has its instant by ours. Usage that comes before the
 * start of an agreement by up to this much, while no other is in force, is taken for its first.
 */
const CLOCKS_APART_MS_MAX = MINUTE_MS;

/**
 * The instant that usage of this instant counts at: the start of an agreement that the provider's clock had reached while
 * ours had not. Else its own.
 */
function countedAtMs(agreements: readonly AgreementSpan[], atMs: number): number {
  if (agreementAt(agreements, atMs) !== null) return atMs;
  const starts = agreements
    .filter(({ fromMs, untilMs }) => fromMs > atMs && (untilMs === null || untilMs > fromMs))
    .map(({ fromMs }) => fromMs);
  const nextMs = Math.min(...starts);
  return nextMs - atMs <= CLOCKS_APART_MS_MAX ? nextMs : atMs;
}

/** The first instant of which entries may belong to another meter when the agreements from `changedMs` on are others. */
export function movableFromMs(changedMs: number): number {
  return changedMs - CLOCKS_APART_MS_MAX;
}

/** The meter that an entry of this instant belongs to. Throws RangeError for an instant outside the span of dates. */
export function meterAt(account: MeteredAccount, feature: string, atMs: number): Meter {
  return meterFinder(account, feature)(atMs);
}

/** `meterAt` for many instants. Those of one batch mostly share a cycle, and finding it is most of the work. */
export function meterFinder(account: MeteredAccount, feature: string): (atMs: number) => Meter {
  const { accountId, agreements, anchorMs } = account;
  let cycle: Cycle | null = null;
  return (atMs) => {
    const countedMs = countedAtMs(agreements, atMs);
    if (cycle === null || !(countedMs >= cycle.startMs && countedMs < cycle.endMs))
      cycle = cycleAt(anchorMs, countedMs);
    return { accountId, agreementId: agreementAt(agreements, countedMs), feature, cycle: cycle.name };
  };
}

function isLater(one: AgreementSpan, other: AgreementSpan): boolean {
  return one.fromMs === other.fromMs ? one.agreementId > other.agreementId : one.fromMs > other.fromMs;
}
