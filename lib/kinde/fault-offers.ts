/**
 * The faults of the local stand-in for Kinde that an operator can switch on, each with the settings it stands for
 * (lib/kinde/emulator/fault-kinds.ts). A browser names an offer and how long; the settings never come from it.
 */

export interface FaultOffer {
  readonly id: string;
  readonly group: "Meters" | "Limits and plans" | "Webhooks";
  readonly title: string;
  /** What it does, and what Holdfast makes of it. */
  readonly about: string;
  readonly settings: {
    readonly endpoint: string;
    readonly fault: string;
    readonly deltaUnits?: number;
    readonly lateMs?: number;
    readonly delayMs?: number;
    readonly copies?: number;
  };
}

const METER_WRITE = "POST /api/v1/billing/meter_usage";
const METER_READ = "GET /api/v1/billing/meter_usage";
const LIMITS = "GET /api/v1/billing/entitlements";
const WEBHOOK = "/api/webhooks/kinde";

export const FAULT_OFFERS: readonly FaultOffer[] = [
  {
    id: "second_writer",
    group: "Meters",
    title: "A second writer",
    about:
      "Somebody else adds 7 units to the meter right after each of our writes. The next reconciliation finds it and writes it over.",
    settings: { endpoint: METER_WRITE, fault: "second_writer", deltaUnits: 7 },
  },
  {
    id: "lost_reply",
    group: "Meters",
    title: "A lost answer",
    about:
      "A meter write counts, and its answer never arrives. The total is absolute, so that it is sent again does no harm.",
    settings: { endpoint: METER_WRITE, fault: "lost_reply" },
  },
  {
    id: "late_write",
    group: "Meters",
    title: "A late write",
    about: "The connection breaks, and the write lands 20 seconds later. It is read back until it is right.",
    settings: { endpoint: METER_WRITE, fault: "late_write", lateMs: 20_000 },
  },
  {
    id: "write_refused",
    group: "Meters",
    title: "Writes fail (503)",
    about: "Meter writes are not taken. They wait 5 seconds, then twice as long each time.",
    settings: { endpoint: METER_WRITE, fault: "status_503" },
  },
  {
    id: "write_limited",
    group: "Meters",
    title: "Too many requests (429)",
    about: "Kinde asks to slow down. Writes wait as long as it says.",
    settings: { endpoint: METER_WRITE, fault: "rate_limited" },
  },
  {
    id: "read_refused",
    group: "Meters",
    title: "Meters cannot be read",
    about: "A reconciliation says so and repairs nothing it has not seen.",
    settings: { endpoint: METER_READ, fault: "status_503" },
  },
  {
    id: "limits_down",
    group: "Limits and plans",
    title: "Limits cannot be read",
    about: "The last limit serves until it is ten minutes old; then new jobs are refused.",
    settings: { endpoint: LIMITS, fault: "status_503" },
  },
  {
    id: "limits_slow",
    group: "Limits and plans",
    title: "Limits come late",
    about: "Each answer is held back for three seconds. One job waits for it, the others use the last limit.",
    settings: { endpoint: LIMITS, fault: "slow", delayMs: 3_000 },
  },
  {
    id: "limits_cut",
    group: "Limits and plans",
    title: "Answers are cut in half",
    about: "No JSON that was whole is whole. It counts as no answer.",
    settings: { endpoint: LIMITS, fault: "malformed_json" },
  },
  {
    id: "webhook_loss",
    group: "Webhooks",
    title: "Webhooks are lost",
    about: "They are never sent. The hourly comparison of plans finds what they would have told.",
    settings: { endpoint: WEBHOOK, fault: "webhook_loss" },
  },
  {
    id: "webhook_duplicate",
    group: "Webhooks",
    title: "Webhooks come three times",
    about: "Two copies come with each. An event is applied once.",
    settings: { endpoint: WEBHOOK, fault: "webhook_duplicate", copies: 2 },
  },
  {
    id: "webhook_reorder",
    group: "Webhooks",
    title: "Webhooks come in any order",
    about: "Each waits up to 15 seconds of its own. What happened last counts, not what came last.",
    settings: { endpoint: WEBHOOK, fault: "webhook_reorder", delayMs: 15_000 },
  },
  {
    id: "webhook_delay",
    group: "Webhooks",
    title: "Webhooks come late",
    about: "Each waits 15 seconds before its first attempt.",
    settings: { endpoint: WEBHOOK, fault: "webhook_delay", delayMs: 15_000 },
  },
  {
    id: "webhook_outage",
    group: "Webhooks",
    title: "We cannot be reached",
    about: "Deliveries do not arrive; Kinde tries them again for a day and a half.",
    settings: { endpoint: WEBHOOK, fault: "webhook_outage" },
  },
  {
    id: "webhook_bad_signature",
    group: "Webhooks",
    title: "Wrong signatures",
    about: "Deliveries are signed wrongly. They are refused and nothing is stored.",
    settings: { endpoint: WEBHOOK, fault: "webhook_bad_signature" },
  },
  {
    id: "webhook_key_rotation",
    group: "Webhooks",
    title: "The signing key changes",
    about: "Kinde signs with a new key. It is fetched and the delivery accepted.",
    settings: { endpoint: WEBHOOK, fault: "webhook_key_rotation" },
  },
];

/** How long a fault stays: so many times, or so long. */
export const FAULT_SPANS = [
  { id: "1", name: "once", span: { count: 1 } },
  { id: "5", name: "5 times", span: { count: 5 } },
  { id: "minute", name: "for a minute", span: { durationMs: 60_000 } },
  { id: "minutes", name: "for 10 minutes", span: { durationMs: 600_000 } },
  { id: "hour", name: "for an hour", span: { durationMs: 3_600_000 } },
] as const;

export type FaultSpanId = (typeof FAULT_SPANS)[number]["id"];

/** The body that the control API takes; null for an offer or a span that there is not. */
export function faultBody(offerId: unknown, spanId: unknown): Record<string, unknown> | null {
  const offer = FAULT_OFFERS.find(({ id }) => id === offerId);
  const span = FAULT_SPANS.find(({ id }) => id === spanId);
  return offer === undefined || span === undefined ? null : { ...offer.settings, ...span.span };
}

/** The offer that active settings came from; null for those that were set past the screen. */
export function offerOf(settings: { readonly endpoint: string; readonly fault: string }): FaultOffer | null {
  return (
    FAULT_OFFERS.find(
      (offer) => offer.settings.fault === settings.fault && offer.settings.endpoint === settings.endpoint,
    ) ?? null
  );
}
