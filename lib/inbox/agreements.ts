import type { AgreementSpan } from "../ledger/meter.ts";
import { msOfNs, nsOfMs } from "./event-time.ts";
import { comparePlanFacts, type PlanFact } from "./facts.ts";

/** An agreement as it is stored: the span that the ledger needs, and its plan where that was told. */
export interface KnownAgreement extends AgreementSpan {
  readonly planKey: string | null;
}

/**
 * All that is known, in the order of facts. A stored agreement whose start no fact tells was learnt from the provider;
 * it counts as if events had told it.
 */
export function allFacts(facts: readonly PlanFact[], stored: readonly KnownAgreement[]): readonly PlanFact[] {
  const started = new Set<string | null>();
  const ended = new Set<string | null>();
  for (const { kind, agreementId } of facts) {
    (kind === "agreement_cancelled" ? ended : started).add(agreementId);
  }
  const told: PlanFact[] = [];
  for (const { agreementId, planKey, fromMs, untilMs } of stored) {
    if (started.has(agreementId)) continue;
    const eventId = `agreement:${agreementId}`;
    told.push({ eventId, kind: "agreement_created", atNs: nsOfMs(fromMs), planKey, agreementId });
    if (untilMs === null || ended.has(agreementId)) continue;
    told.push({ eventId, kind: "agreement_cancelled", atNs: nsOfMs(untilMs), planKey: null, agreementId });
  }
  return [...facts, ...told].toSorted(comparePlanFacts);
}

/**
 * The agreements whose stored row is missing or says something else than the facts. An agreement lasts from the first
 * fact that names it up to the first cancellation of it, or of everything; when a newer fact names it again, it goes
 * on. One that only a cancellation named has no known start, so it is left out until something tells it.
 */
export function agreementChanges(
  sortedFacts: readonly PlanFact[],
  stored: readonly KnownAgreement[],
): readonly KnownAgreement[] {
  return agreementsOf(sortedFacts).filter((told) => {
    const row = stored.find(({ agreementId }) => agreementId === told.agreementId);
    return row?.planKey !== told.planKey || row.fromMs !== told.fromMs || row.untilMs !== told.untilMs;
  });
}

/** When the first agreement that an event told of began; null while none did. A source of the cycle anchor. */
export function firstAgreementMs(facts: readonly PlanFact[]): number | null {
  let firstNs: bigint | null = null;
  for (const { kind, atNs } of facts) {
    if (kind === "agreement_created" && (firstNs === null || atNs < firstNs)) firstNs = atNs;
  }
  return firstNs === null ? null : msOfNs(firstNs);
}

interface Span {
  fromMs: number | null;
  untilMs: number | null;
  planKey: string | null;
}

function agreementsOf(sorted: readonly PlanFact[]): readonly KnownAgreement[] {
  const spans = new Map<string, Span>();
  for (const { kind, agreementId, atNs, planKey } of sorted) {
    const atMs = msOfNs(atNs);
    if (agreementId === null) {
      if (kind === "agreement_cancelled") for (const span of spans.values()) span.untilMs ??= atMs;
      continue;
    }
    const span = spans.get(agreementId) ?? { fromMs: null, untilMs: null, planKey: null };
    spans.set(agreementId, span);
    if (kind === "agreement_cancelled") {
      span.untilMs ??= atMs;
    } else {
      span.fromMs ??= atMs;
      span.untilMs = null;
      span.planKey = planKey ?? span.planKey;
    }
  }
  return [...spans].flatMap(([agreementId, { fromMs, untilMs, planKey }]) =>
    fromMs === null ? [] : { agreementId, planKey, fromMs, untilMs },
  );
}
