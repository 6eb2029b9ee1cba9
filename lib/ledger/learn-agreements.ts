import type { AgreementSpan } from "./meter.ts";

/** An agreement as the provider lists it. It tells no start. */
export interface ListedAgreement {
  readonly agreementId: string;
  readonly planKey: string | null;
  /** Not in force from this instant on; null while no end is known. */
  readonly untilMs: number | null;
}

/** What events have told of agreements, which outranks a listing: a listing may lag behind them. */
export interface Told {
  /** Agreements whose start an event told. Events tell their ends too, and a drift check finds what they missed. */
  readonly startedIds: ReadonlySet<string>;
  /** While an event of this instant is fresh, an agreement that would start later is not taken from a listing. */
  readonly freshAtMs: number | null;
}

const NOTHING_TOLD: Told = { startedIds: new Set(), freshAtMs: null };

export interface LearntSpans {
  /** Agreements that are new, or that end at another instant than was known. */
  readonly spans: readonly (AgreementSpan & { readonly planKey: string | null })[];
  /** From here on entries may lie in another meter than the one they belong to; null when nothing has changed. */
  readonly changedFromMs: number | null;
}

/**
 * What a read of all agreements, sent at `sentAtMs`, adds to those that are known.
 *
 * An agreement starts where the one before it ended. Where the provider does not list that one any more, and did not
 * tell its end before, it starts when the read was sent, which also ends the ones that are no longer listed. The first
 * agreement of an account starts with the account: what was counted before it was known is billed under it.
 */
export function learnSpans(
  known: readonly AgreementSpan[],
  listed: readonly ListedAgreement[],
  sentAtMs: number,
  told: Told = NOTHING_TOLD,
): LearntSpans {
  const knownById = new Map(known.map((span) => [span.agreementId, span]));
  const listedIds = new Set(listed.map(({ agreementId }) => agreementId));
  const spans: (AgreementSpan & { planKey: string | null })[] = [];
  let changedFromMs: number | null = null;
  const note = (span: AgreementSpan, planKey: string | null, instantMs: number): void => {
    if (told.startedIds.has(span.agreementId)) return;
    const isNew = !knownById.has(span.agreementId);
    if (isNew && told.freshAtMs !== null && span.fromMs > told.freshAtMs) return;
    spans.push({ ...span, planKey });
    changedFromMs = Math.min(changedFromMs ?? instantMs, instantMs);
  };

  const ends: number[] = [];
  for (const span of known) {
    const isListed = listedIds.has(span.agreementId);
    const listing = listed.find(({ agreementId }) => agreementId === span.agreementId);
    const untilMs = isListed ? listing!.untilMs : (span.untilMs ?? sentAtMs);
    if (untilMs !== null) ends.push(untilMs);
    if (untilMs === span.untilMs) continue;
    const changedMs = Math.min(untilMs ?? Infinity, span.untilMs ?? Infinity);
    note({ ...span, untilMs }, listing?.planKey ?? null, changedMs);
  }
  const inOrderOfEnd = listed
    .filter(({ agreementId }) => !knownById.has(agreementId))
    .toSorted((one, other) => (one.untilMs ?? Infinity) - (other.untilMs ?? Infinity));
  let isFirst = known.length === 0;
  for (const { agreementId, planKey, untilMs } of inOrderOfEnd) {
    const before = ends.filter((endMs) => untilMs === null || endMs < untilMs);
    const fromMs = isFirst
      ? 0
      : before.length > 0
        ? Math.max(...before)
        : Math.min(sentAtMs, untilMs ?? sentAtMs);
    note({ agreementId, fromMs, untilMs }, planKey, fromMs);
    if (untilMs !== null) ends.push(untilMs);
    isFirst = false;
  }
  return { spans, changedFromMs };
}
