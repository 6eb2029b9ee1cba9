import { expect } from "vitest";
import { DEFAULT_ALLOWANCES } from "../../lib/inbox/allowance.ts";
import { UNKNOWN_CUSTOMER, type CustomerState, type Effect } from "../../lib/inbox/consequences.ts";
import { parseBody } from "../../lib/inbox/event.ts";
import { decideEvent, type Outcome } from "../../lib/inbox/handlers.ts";
import { decideIntake, eventKeyOf, type DeliveryFlag, type StoredIdentity } from "../../lib/inbox/intake.ts";
import { readEvent } from "../../lib/inbox/read-event.ts";
import {
  claim,
  fail,
  finish,
  newProgress,
  replay,
  withCopy,
  type EventProgress,
} from "../../lib/inbox/worker.ts";

export const CREATED_MS = Date.parse("2026-09-01T00:00:00Z");
export const [FREE, STARTER, PRO] = [
  "customer_free_plan",
  "customer_starter_plan",
  "customer_pro_plan",
] as const;

type Body = Readonly<Record<string, unknown>>;

/** Writes effects as the mutation does. Fails the test for a key that is there, as the unique index would. */
export function withEffects(state: CustomerState, effects: readonly Effect[]): CustomerState {
  return effects.reduce(withEffect, state);
}

function withEffect(state: CustomerState, effect: Effect): CustomerState {
  if (effect.kind === "account") {
    const account = state.account ?? {
      userId: null,
      customerId: null,
      planKey: FREE,
      planSetBy: null,
      anchor: { atMs: CREATED_MS, source: "creation", isFrozen: false },
      overdueSinceMs: null,
      profile: null,
      deletedAtMs: null,
    };
    const { userId, customerId } = effect;
    return {
      ...state,
      account: {
        ...account,
        userId: account.userId ?? userId,
        customerId: account.customerId ?? customerId,
      },
    };
  }
  const { account } = state;
  expect(account).not.toBeNull();
  if (account === null) return state;
  switch (effect.kind) {
    case "plan_fact":
      return { ...state, planFacts: appended(state.planFacts, effect.fact, "eventId") };
    case "payment_fact":
      return { ...state, paymentFacts: appended(state.paymentFacts, effect.fact, "eventId") };
    case "credit":
      return { ...state, grants: appended(state.grants, effect.row, "entryKey") };
    case "agreement": {
      const { agreementId } = effect.agreement;
      const others = state.agreements.filter((row) => row.agreementId !== agreementId);
      return { ...state, agreements: [...others, effect.agreement] };
    }
    case "plan":
      return { ...state, account: { ...account, planKey: effect.planKey, planSetBy: effect.planSetBy } };
    case "anchor":
      return {
        ...state,
        account: { ...account, anchor: { ...account.anchor, atMs: effect.anchorMs, source: "agreement" } },
      };
    case "overdue":
      return { ...state, account: { ...account, overdueSinceMs: effect.sinceMs } };
    case "profile": {
      const { email, atNs, eventId } = effect;
      return { ...state, account: { ...account, profile: { email, atNs, eventId } } };
    }
    case "tombstone":
      return { ...state, account: { ...account, deletedAtMs: effect.deletedAtMs, profile: null } };
    case "limit_read":
    case "review":
      return state;
  }
}

function appended<Row>(rows: readonly Row[], row: Row, name: keyof Row): readonly Row[] {
  expect(rows.map((other) => other[name])).not.toContain(row[name]);
  return [...rows, row];
}

/** What has to come out the same in every order: all rows but for how the grants of a month are split into lines. */
export function settled(state: CustomerState): unknown {
  const ids = (rows: readonly { readonly eventId: string }[]) =>
    rows.map(({ eventId }) => eventId).toSorted();
  return {
    account: state.account,
    planFacts: ids(state.planFacts),
    paymentFacts: ids(state.paymentFacts),
    agreements: state.agreements.toSorted((a, b) => (a.agreementId < b.agreementId ? -1 : 1)),
    credits: creditsOf(state),
  };
}

export function creditsOf({ grants }: CustomerState): Record<string, number> {
  const credits: Record<string, number> = {};
  for (const { period, units } of grants.toSorted((a, b) => (a.period < b.period ? -1 : 1))) {
    credits[period] = (credits[period] ?? 0) + units;
  }
  return credits;
}

export function apply(
  state: CustomerState,
  body: Body,
): { state: CustomerState; outcome: Outcome; effects: readonly Effect[] } {
  const { effects, outcome } = decideEvent(readEvent(body), state, DEFAULT_ALLOWANCES);
  return { state: withEffects(state, effects), outcome, effects };
}

export function applyAll(bodies: readonly Body[], from: CustomerState = UNKNOWN_CUSTOMER): CustomerState {
  return bodies.reduce((state, body) => apply(state, body).state, from);
}

let made = 0;

/** An event of the one customer of these tests, in the shape of design §7. */
export function event(type: string, at: string, data: Body = {}, id = `event_${(made += 1)}`): Body {
  const subject = type.startsWith("user.")
    ? { user: { id: "kp_1", ...data } }
    : { user_id: "kp_1", customer_id: "customer_1", customer_type: "user", ...data };
  return { type, event_id: id, timestamp: at, event_timestamp: at, data: subject };
}

interface Stored extends StoredIdentity {
  readonly body: Body;
  readonly webhookId: string | null;
  progress: EventProgress;
}

/** The inbox of one customer in memory: every step a transaction, the worker run to its end after each delivery. */
export class InboxModel {
  readonly events = new Map<string, Stored>();
  readonly receipts: { eventKey: string; flags: readonly DeliveryFlag[] }[] = [];
  /** Attempts that wrote what they decided. */
  writes = 0;

  constructor(public state: CustomerState = UNKNOWN_CUSTOMER) {}

  deliver(
    body: Body,
    nowMs: number,
    { webhookId = null, hash = JSON.stringify(body) }: { webhookId?: string | null; hash?: string } = {},
  ): void {
    const delivery = { body: parseBody(body), payloadHash: hash, webhookId };
    const sameWebhook = [...this.events.values()].find(
      (stored) => webhookId !== null && stored.webhookId === webhookId,
    );
    const sameKey = this.events.get(eventKeyOf(delivery)) ?? null;
    const intake = decideIntake(delivery, sameKey, sameWebhook ?? null, nowMs);
    this.receipts.push({ eventKey: intake.eventKey, flags: intake.flags });
    if (intake.kind === "copy") {
      const stored = this.events.get(intake.eventKey)!;
      stored.progress = withCopy(stored.progress, nowMs);
      return;
    }
    const eventId = delivery.body.kind === "event" ? delivery.body.eventId : null;
    const progress = newProgress(intake.status, intake.reason, nowMs);
    this.events.set(intake.eventKey, {
      eventKey: intake.eventKey,
      eventId,
      payloadHash: hash,
      body,
      webhookId,
      progress,
    });
  }

  /** Works on what is due. `ends` says how the attempt ends: to the end, by an error, or with its worker. */
  work(nowMs: number, ends: "well" | "throws" | "crashes" = "well"): void {
    for (const stored of this.events.values()) {
      const claimed = claim(stored.progress, nowMs);
      if (claimed.kind === "not_due") continue;
      stored.progress = claimed.progress;
      if (claimed.kind === "dead" || ends === "crashes") continue;
      if (ends === "throws") {
        stored.progress = fail(stored.progress, claimed.fence, "stopped", nowMs)!;
        continue;
      }
      const { state, outcome, effects } = apply(this.state, stored.body);
      stored.progress = finish(stored.progress, claimed.fence, outcome, nowMs)!;
      this.state = state;
      if (effects.length > 0) this.writes += 1;
    }
  }

  replay(eventKey: string, nowMs: number): void {
    const stored = this.events.get(eventKey)!;
    const replayed = replay(stored.progress, "operator", nowMs);
    if (replayed.kind === "queued") stored.progress = replayed.progress;
  }
}
