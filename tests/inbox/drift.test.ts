import { describe, expect, test } from "vitest";

import { DEFAULT_ALLOWANCES } from "../../lib/inbox/allowance.ts";
import type { CustomerState } from "../../lib/inbox/consequences.ts";
import {
  decideDrift,
  type DriftDecision,
  type DriftReading,
  isSilent,
  parseSilenceHours,
  readingOf,
  repairEffects,
  type Sighting,
} from "../../lib/inbox/drift.ts";
import { applyAll, creditsOf, event, FREE, PRO, STARTER, withEffects } from "./model.ts";

const AT = "2026-10-05T09:00:00Z";
const T0 = Date.parse(AT);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const signedUp = event("user.created", AT);
const changed = (at: string, key: string) => event("customer.plan_changed", at, { plan: { key } });
const created = (at: string, id: string, key: string) =>
  event("customer.agreement_created", at, { agreement_id: id, plan: { key } });

interface Change {
  readonly reading?: Partial<DriftReading>;
  readonly sighting?: Partial<Sighting> | null;
  readonly factStoredAtMs?: number | null;
  readonly knownSinceMs?: number;
}

/** Two hours after everything that was told; the first reading was five minutes before the second. */
function decide(state: CustomerState, change: Change = {}): DriftDecision {
  const reading = { sentAtMs: T0 + 2 * HOUR, planKey: PRO, subscribedAtMs: null, inForceIds: [] };
  const sighting = { firstSentAtMs: T0 + 2 * HOUR - 5 * MINUTE, planKey: PRO, endedAgreementIds: [] };
  return decideDrift({
    accountId: "a1",
    state,
    factStoredAtMs: T0,
    freePlanKey: FREE,
    knownSinceMs: T0,
    ...change,
    reading: { ...reading, ...change.reading },
    sighting: change.sighting === null ? null : { ...sighting, ...change.sighting },
  });
}

function repaired(state: CustomerState, decision: DriftDecision): CustomerState {
  if (decision.kind !== "repair") throw new Error(decision.kind);
  return withEffects(state, repairEffects(state, decision.facts, DEFAULT_ALLOWANCES));
}

const free = applyAll([signedUp]);

describe("a difference", () => {
  test("is sighted first, and repaired when it is read again five minutes later, as of the first reading", () => {
    expect(decide(free, { sighting: null })).toEqual({
      kind: "sighted",
      sighting: { firstSentAtMs: T0 + 2 * HOUR, planKey: PRO, endedAgreementIds: [] },
    });
    const firstSentAtMs = T0 + 2 * HOUR - 5 * MINUTE;
    const decision = decide(free);
    expect(decision).toMatchObject({
      kind: "repair",
      facts: [
        { eventId: `drift:a1:${firstSentAtMs}`, kind: "provider_read", planKey: PRO, agreementId: null },
      ],
    });
    const after = repaired(free, decision);
    expect(after.account).toMatchObject({ planKey: PRO, planSetBy: `drift:a1:${firstSentAtMs}` });
    expect(after.planFacts.at(-1)!.atNs).toBe(BigInt(firstSentAtMs) * 1_000_000n);
    expect(creditsOf(after)).toEqual({ "2026-10": 500 });
  });

  test("is not believed a millisecond too early", () => {
    const untilMs = T0 + 2 * HOUR + 1;
    expect(decide(free, { sighting: { firstSentAtMs: untilMs - 5 * MINUTE } })).toEqual({
      kind: "wait",
      untilMs,
      dropsSighting: false,
    });
  });

  test("that is another one than before is a first sight again", () => {
    expect(decide(free, { sighting: { planKey: STARTER } })).toMatchObject({
      kind: "sighted",
      sighting: { planKey: PRO, firstSentAtMs: T0 + 2 * HOUR },
    });
    const later = { planKey: STARTER, firstSentAtMs: T0 + 2 * HOUR + 1 };
    expect(decide(free, { sighting: later })).toMatchObject({ kind: "wait", dropsSighting: false });
  });

  test.each([null, FREE])("there is none between no plan and Free (%s)", (planKey) => {
    expect(decide(free, { reading: { planKey } })).toEqual({ kind: "same" });
  });
});

describe("C33b: a reading that may lag behind an event", () => {
  const pro = applyAll([signedUp, changed("2026-10-05T10:55:00Z", PRO)]);

  test.each([0, 1, 9 * MINUTE + 59_999])("changes nothing %d ms after the fact was stored", (ageMs) => {
    const factStoredAtMs = T0 + 2 * HOUR - ageMs;
    const change = { reading: { planKey: FREE }, sighting: { planKey: FREE }, factStoredAtMs };
    const untilMs = factStoredAtMs + 10 * MINUTE;
    expect(decide(pro, change)).toEqual({ kind: "wait", untilMs, dropsSighting: true });
    expect(decide(pro, { ...change, sighting: null })).toMatchObject({ kind: "wait", dropsSighting: false });
  });

  test("is no witness once an event of a later time, or one stored later, has come", () => {
    const storedBefore = { reading: { planKey: FREE }, factStoredAtMs: T0 };
    // The event happened at 10:55, the first reading was sent at 10:50.
    const sighting = { planKey: FREE, firstSentAtMs: T0 + 110 * MINUTE };
    expect(decide(pro, { ...storedBefore, sighting })).toMatchObject({ kind: "sighted" });
    const storedLater = {
      reading: { planKey: FREE, sentAtMs: T0 + 3 * HOUR },
      factStoredAtMs: T0 + 2.5 * HOUR,
    };
    const between = { planKey: FREE, firstSentAtMs: T0 + 2 * HOUR };
    expect(decide(pro, { ...storedLater, sighting: between })).toMatchObject({ kind: "sighted" });
  });
});

describe("agreements that events told of", () => {
  const both = applyAll([
    created(AT, "agreement_1", STARTER),
    created("2026-10-05T09:10:00Z", "agreement_2", PRO),
  ]);
  const gone = (inForceIds: string[], endedAgreementIds: string[], planKey: string | null = PRO) =>
    decide(both, { reading: { inForceIds, planKey }, sighting: { planKey, endedAgreementIds } });

  test("end with the repair when neither reading lists them", () => {
    const decision = gone(["agreement_2"], ["agreement_1"]);
    expect(decision).toMatchObject({ kind: "repair", endedAgreementIds: ["agreement_1"], missedEvent: true });
    const after = repaired(both, decision);
    expect(after.account!.planKey).toBe(PRO);
    const spans = after.agreements.map(({ agreementId, untilMs }) => [agreementId, untilMs]);
    expect(Object.fromEntries(spans)).toEqual({
      agreement_1: T0 + 2 * HOUR - 5 * MINUTE - 1,
      agreement_2: null,
    });
  });

  test("end only where both readings agree", () => {
    expect(gone([], ["agreement_1"])).toMatchObject({ kind: "repair", endedAgreementIds: ["agreement_1"] });
    expect(gone(["agreement_1"], ["agreement_1"])).toMatchObject({ kind: "sighted" });
  });

  test("do not take the plan along that goes on under another agreement", () => {
    // Pro was cancelled and bought again, and neither was told.
    const decision = gone(["agreement_9"], ["agreement_1", "agreement_2"]);
    const after = repaired(both, decision);
    expect(after.account!.planKey).toBe(PRO);
    expect(after.agreements.every(({ untilMs }) => untilMs !== null)).toBe(true);
  });

  test("may all be gone", () => {
    const decision = gone([], ["agreement_1", "agreement_2"], null);
    expect(repaired(both, decision).account!.planKey).toBe(FREE);
  });

  test("one that only the provider told of is the ledger's business", () => {
    const learnt = { agreementId: "agreement_1", planKey: FREE, fromMs: 0, untilMs: null };
    const state = { ...free, agreements: [learnt] };
    expect(decide(state, { reading: { planKey: FREE, inForceIds: [] } })).toEqual({ kind: "same" });
  });
});

test("a repair leaves nothing to repair, whatever was told and read", () => {
  const keys = [null, FREE, STARTER, PRO];
  const ids = ["agreement_1", "agreement_2", "agreement_3"];
  let runs = 0;
  for (const told of [
    [signedUp],
    [changed(AT, PRO)],
    [created(AT, "agreement_1", PRO)],
    [
      created(AT, "agreement_1", PRO),
      event("customer.agreement_cancelled", AT, { agreement_id: "agreement_1" }),
    ],
    [created(AT, "agreement_1", STARTER), changed(AT, PRO), created(AT, "agreement_2", PRO)],
  ]) {
    const state = applyAll(told);
    for (const planKey of keys) {
      for (let mask = 0; mask < 8; mask += 1) {
        const inForceIds = ids.filter((_, index) => (mask & (1 << index)) !== 0);
        const first = decide(state, { reading: { planKey, inForceIds }, sighting: null });
        if (first.kind !== "sighted") continue;
        const sighting = { ...first.sighting, firstSentAtMs: T0 + 2 * HOUR - 5 * MINUTE };
        const after = repaired(state, decide(state, { reading: { planKey, inForceIds }, sighting }));
        expect(after.account!.planKey).toBe(planKey ?? FREE);
        expect(decide(after, { reading: { planKey, inForceIds }, sighting: null })).toEqual({ kind: "same" });
        runs += 1;
      }
    }
  }
  expect(runs).toBeGreaterThan(80);
});

describe("an event must have been missed", () => {
  const missed = (state: CustomerState, knownSinceMs = T0) => {
    const decision = decide(state, { knownSinceMs });
    return decision.kind === "repair" && decision.missedEvent;
  };
  const firstReadMs = T0 + 2 * HOUR - 5 * MINUTE;
  test("when the difference was not there at the first look", () => {
    expect(missed(free)).toBe(true);
    expect(missed(free, firstReadMs - 10 * MINUTE - 1)).toBe(true);
    expect(missed(free, firstReadMs - 10 * MINUTE)).toBe(false);
  });
  test("when a fact had told another plan", () => {
    expect(missed(applyAll([changed(AT, STARTER)]), firstReadMs)).toBe(true);
  });
});

describe("one reading of two lists", () => {
  const plan = (key: string, subscribedAtMs: number | null = T0) => ({ key, subscribedAtMs });
  const agreement = (id: string, planKey: string, expiresAtMs: number | null = null) => ({
    id,
    planKey,
    expiresAtMs,
  });
  const read = (plans: ReturnType<typeof plan>[], agreements: ReturnType<typeof agreement>[]) =>
    readingOf({ sentAtMs: T0 + HOUR, plans }, { sentAtMs: T0 + HOUR + 5, agreements });

  test("is of the instant of the first question, and of the newest plan", () => {
    const both = [plan(STARTER, T0 - HOUR), plan(PRO)];
    expect(
      read(both, [
        agreement("a", PRO),
        agreement("b", STARTER, T0 + HOUR),
        agreement("c", PRO, T0 + HOUR + 1),
      ]),
    ).toEqual({
      kind: "read",
      reading: { sentAtMs: T0 + HOUR, planKey: PRO, subscribedAtMs: T0, inForceIds: ["a", "c"] },
    });
  });
  test("may be of nothing", () => {
    expect(read([], [])).toMatchObject({ kind: "read", reading: { planKey: null, inForceIds: [] } });
  });
  test("a plan without an agreement is one", () => {
    expect(read([plan(FREE, null)], [])).toMatchObject({ kind: "read", reading: { planKey: FREE } });
  });
  test.each([
    ["an agreement of another plan", [plan(PRO)], [agreement("a", STARTER)]],
    ["an agreement and no plan", [], [agreement("a", STARTER)]],
    ["two plans of one instant", [plan(PRO), plan(STARTER)], [agreement("a", STARTER)]],
  ])("%s says nothing", (_name, plans, agreements) => {
    expect(read(plans, agreements)).toMatchObject({ kind: "unclear" });
  });
});

describe("silence", () => {
  const silent = (subscribedAtMs: number | null, hours: number) =>
    isSilent(T0, subscribedAtMs, 72, T0 + hours * HOUR);
  test("counts only when somebody has subscribed meanwhile, of which there was time to tell", () => {
    expect(silent(T0 + 5 * HOUR, 73)).toBe(true);
    expect(silent(T0 + 5 * HOUR, 72)).toBe(false);
    expect(silent(null, 1_000)).toBe(false);
    expect(silent(T0 - HOUR, 1_000)).toBe(false);
    expect(silent(T0 + HOUR, 1_000)).toBe(false);
    expect(silent(T0 + 72.5 * HOUR, 73)).toBe(false);
  });
  test.each<[string | undefined, number | null]>([
    [undefined, 72],
    ["", 72],
    ["1", 1],
    ["8760", 8760],
    ["8761", null],
    ["0", null],
    ["-1", null],
    ["1e3", null],
    ["one", null],
  ])("the setting %s is %s hours", (text, hours) => {
    expect(parseSilenceHours(text)).toBe(hours);
  });
});
