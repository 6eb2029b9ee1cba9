import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { ledgerOf } from "../helpers/ledger.ts";
import { createTenant, type Tenant } from "../helpers/tenant.ts";

interface Review {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly late: { ledgerUnits: number; sentUnits: number; lateUnits: number } | null;
  readonly decidedBy: string | null;
}

/** A minute before the end of a calendar month, where the tenant's cycle ends. */
const CYCLE_END_MS = Date.UTC(2026, 10, 1);

let backend: Backend;
let ledger: ReturnType<typeof ledgerOf>;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend({ testFunctions: true, startMs: CYCLE_END_MS - 60_000 });
  ledger = ledgerOf(backend);
  tenant = await createTenant(backend, { cycleAnchor: "2026-01-01" });
});
afterEach(() => backend.close());

const list = async (status: "open" | "decided" = "open"): Promise<Review[]> => {
  const args = { status, cursor: null, limit: 10 };
  return (await ledger.operator.query<{ reviews: Review[] }>("reviews:list", args)).reviews;
};
const decide = (reviewId: string, args: object) =>
  ledger.operator.mutation<{ kind: string; entries?: number; code?: string }>("reviews:decide", {
    reviewId,
    ...args,
  });

/** Ten clicks that were sent in time and four that were booked in their cycle after its end. */
async function lateReview(): Promise<Review> {
  await ledger.clicks(tenant.accountId, 10);
  await ledger.report();
  await backend.advanceMs(61_000);
  await ledger.clicks(tenant.accountId, 4, { atMs: CYCLE_END_MS - 1 });
  await ledger.report();
  const [review] = await list();
  expect(review).toMatchObject({
    kind: "late_usage",
    late: { ledgerUnits: 14, sentUnits: 10, lateUnits: 4 },
  });
  return review!;
}

describe("late usage", () => {
  test("B41: carried over is billed in the current cycle, once, linked and audited", async () => {
    const { id } = await lateReview();
    expect(await decide(id, { decision: "carry_over" })).toMatchObject({ kind: "decided", entries: 2 });
    expect(await decide(id, { decision: "carry_over" })).toMatchObject({ kind: "decided", entries: 0 });
    await ledger.report();
    expect(await ledger.fixedTotals()).toEqual([10, 4]);
    const { meters } = await ledger.reconcile(tenant.accountId);
    expect(meters).toMatchObject([
      { cycle: "2026-10", ledgerUnits: 10, meterUnits: 10, verdict: "match" },
      { cycle: "2026-11", ledgerUnits: 4, meterUnits: 4, verdict: "match" },
    ]);
    const entries = await backend.readAll<StoredRow & { key: string; units: number; origin: object }>(
      "entries",
    );
    expect(entries.filter(({ key }) => key.startsWith("late:"))).toMatchObject([
      { units: -4, origin: { kind: "carry_over", reviewId: id } },
      { units: 4, origin: { kind: "carry_over", reviewId: id } },
    ]);
    expect(await backend.readAll("audit")).toContainEqual(
      expect.objectContaining({ action: "review_decided", actor: "operator key" }),
    );
    expect(await list()).toEqual([]);
    expect(await list("decided")).toMatchObject([{ id, status: "decided", decidedBy: "operator key" }]);
  });

  test("written off leaves the ledger at what was sent", async () => {
    const { id } = await lateReview();
    expect(await decide(id, { decision: "write_off" })).toMatchObject({ kind: "decided", entries: 1 });
    expect((await ledger.reconcile(tenant.accountId)).meters).toMatchObject([
      { ledgerUnits: 10, meterUnits: 10, verdict: "match" },
    ]);
    expect(await decide(id, { decision: "accept" })).toMatchObject({ code: "decided_otherwise" });
  });

  test("written off stays in its meter when an earlier end of the agreement is learnt afterwards", async () => {
    await ledger.clicks(tenant.accountId, 10);
    await ledger.report();
    await backend.advanceMs(61_000);
    await ledger.clicks(tenant.accountId, 4, { atMs: CYCLE_END_MS - 50_000 });
    await ledger.report();
    const [review] = await list();
    await decide(review!.id, { decision: "write_off" });
    const [known] = await backend.readAll<StoredRow & { agreementId: string }>("agreements");
    await backend.mutation("agreements:learn", {
      accountId: tenant.accountId,
      sentAtMs: backend.nowMs(),
      listed: [
        { agreementId: known!.agreementId, planKey: null, untilMs: CYCLE_END_MS - 30_000 },
        { agreementId: "next", planKey: null, untilMs: null },
      ],
    });
    await backend.advanceMs(0);
    expect((await ledger.reconcile(tenant.accountId)).meters).toMatchObject([
      { agreementId: known!.agreementId, ledgerUnits: 10, meterUnits: 10, verdict: "match" },
    ]);
    expect(await list()).toEqual([]);
  });

  test("that moves to another agreement after it was settled is asked about again, and billed once in the end", async () => {
    await backend.advanceMs(61_000);
    await ledger.clicks(tenant.accountId, 4, { atMs: CYCLE_END_MS - 50_000 });
    await ledger.report();
    const [settled] = await list();
    expect(await decide(settled!.id, { decision: "carry_over" })).toMatchObject({ entries: 2 });
    await ledger.report();
    const [known] = await backend.readAll<StoredRow & { agreementId: string }>("agreements");
    await backend.mutation("agreements:learn", {
      accountId: tenant.accountId,
      sentAtMs: backend.nowMs(),
      listed: [
        { agreementId: known!.agreementId, planKey: null, untilMs: CYCLE_END_MS - 55_000 },
        { agreementId: "next", planKey: null, untilMs: null },
      ],
    });
    await backend.advanceMs(0);
    // Four were carried over, and the four that they stood for have left: that meter owes four.
    await ledger.report();
    // Whatever else may go wrong with it, below zero is no failure of a meter that has closed.
    for (const { _id: meterId } of await ledger.meters())
      await backend.mutation("reports:noteBelowZero", { meterId });
    expect(await list()).not.toContainEqual(expect.objectContaining({ kind: "repeated_failure" }));
    const reviews = await list();
    expect(reviews).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          kind: "late_usage",
          detail: expect.stringContaining(
            "the ledger has -4: what was settled here belongs elsewhere by now",
          ),
          late: { ledgerUnits: -4, sentUnits: 0, lateUnits: -4, maybeSentUnits: null },
        }),
        expect.objectContaining({
          late: { ledgerUnits: 4, sentUnits: 0, lateUnits: 4, maybeSentUnits: null },
        }),
      ]),
    );
    expect((await ledger.reconcile(tenant.accountId)).status).toBe("good");
    const shown = await ledger.operator.query<{ meters: object[] }>("screensReconciliation:account", {
      accountId: tenant.accountId,
    });
    expect(shown.meters).toContainEqual(expect.objectContaining({ ledgerUnits: -4 }));
    for (const { id, late } of reviews.filter((one) => one.late !== null)) {
      expect(await decide(id, { decision: "carry_over" })).toMatchObject({ kind: "decided" });
      expect(late).not.toBeNull();
    }
    await ledger.report();
    const units = new Map<string, number>();
    for (const { meterId, units: added } of await backend.readAll<
      StoredRow & { meterId: string; units: number }
    >("entries")) {
      units.set(meterId, (units.get(meterId) ?? 0) + added);
    }
    expect([...units.values()].filter((sum) => sum !== 0)).toEqual([4]);
    expect(await ledger.fixedTotals()).toContain(4);
    expect(await list()).toEqual([]);
  });

  test("accepted books nothing, and is not asked again", async () => {
    const { id } = await lateReview();
    expect(await decide(id, { decision: "accept" })).toMatchObject({ kind: "decided", entries: 0 });
    const { meters } = await ledger.reconcile(tenant.accountId);
    expect(meters).toMatchObject([{ verdict: "closed_cycle_drift", ledgerUnits: 14, meterUnits: 10 }]);
    await ledger.reconcile();
    await ledger.report();
    expect(await list()).toEqual([]);
    expect(await ledger.evidence()).toHaveLength(1);
  });

  test("numbers that have changed are shown anew, and decided on as they are", async () => {
    const { id } = await lateReview();
    await ledger.clicks(tenant.accountId, 1, { atMs: CYCLE_END_MS - 1 });
    expect(await decide(id, { decision: "carry_over" })).toMatchObject({ code: "numbers_changed" });
    await ledger.report();
    expect(await list()).toMatchObject([{ id, late: { ledgerUnits: 15, lateUnits: 5 } }]);
    expect(await decide(id, { decision: "carry_over" })).toMatchObject({ kind: "decided" });
  });
});

test("drift of a closed meter is put before a person once, who accepts it with a note", async () => {
  await ledger.clicks(tenant.accountId, 10);
  await ledger.report();
  await backend.advanceMs(61_000);
  const [total] = await backend.readAll("fixedTotals");
  await backend.patchRow(total!._id, { totalUnits: 12 });
  await ledger.reconcile();
  await ledger.reconcile();
  const [review, ...others] = await list();
  expect(others).toEqual([]);
  expect(review).toMatchObject({ kind: "closed_cycle_drift" });
  expect(await decide(review!.id, { decision: "carry_over" })).toMatchObject({ code: "not_late" });
  const noteless = decide(review!.id, { decision: "accept" });
  await expect(noteless).rejects.toMatchObject({ data: { code: "invalid" } });
  expect(await decide(review!.id, { decision: "accept", note: "credited by hand" })).toMatchObject({
    kind: "decided",
  });
  await ledger.reconcile();
  expect(await list()).toEqual([]);
  const evidence = await ledger.operator.query<{ evidence: object[] }>("evidence:list", {
    accountId: tenant.accountId,
    cursor: null,
    limit: 10,
  });
  expect(evidence.evidence).toMatchObject([
    { verdict: "closed_cycle_drift", meterUnits: 12, ledgerUnits: 10 },
  ]);
  expect(await ledger.fixedTotals()).toEqual([12]);
});

test("a review that there is not is not found", async () => {
  expect(await decide("nothing", { decision: "accept", note: "x" })).toEqual({ kind: "not_found" });
});
