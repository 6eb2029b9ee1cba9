import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { CAUSES } from "../../lib/ledger/reconcile.ts";
import { REQUEST_TIMEOUT_MS, SEND_LEASE_MS } from "../../lib/ledger/report-state.ts";
import type { StoredRow } from "../helpers/backend.ts";
import { openKindeLedger, METER_READ, type KindeLedger } from "../helpers/kinde-ledger.ts";

let kinde: KindeLedger;
beforeEach(async () => {
  kinde = await openKindeLedger();
});
afterEach(() => kinde.close());

const clicks = (count: number, options?: { atMs?: number }) =>
  kinde.ledger.clicks(kinde.accountId, count, options);
const only = async () => {
  const run = await kinde.ledger.reconcile(kinde.accountId);
  expect(run.meters).toHaveLength(1);
  return run.meters[0]!;
};
/** A meter that is right and known to be right, and a next run that has nothing to add. */
async function expectProven(units: number): Promise<void> {
  const before = await kinde.ledger.evidence();
  expect(await only()).toMatchObject({ ledgerUnits: units, meterUnits: units, verdict: "match" });
  expect(await kinde.ledger.evidence()).toHaveLength(before.length);
  expect(await kinde.total()).toBe(units);
}

test("clicks of a signed-in customer reach the meter of the agreement, learnt on the way", async () => {
  await clicks(7);
  expect(await kinde.ledger.report()).toMatchObject({ sent: 1, failed: 0 });
  expect(await kinde.total()).toBe(7);
  expect(await kinde.agreementIds()).toEqual([kinde.customer.agreementId]);
  expect(await only()).toMatchObject({ ledgerUnits: 7, sentUnits: 7, meterUnits: 7, verdict: "match" });
});

/** As many flushes as come due together when a machine has slept through the last minute of a cycle. */
const FLUSHES = 12;

test("a read-back that many senders come to at once is done by one of them, and its failure is one", async () => {
  const { backend, ledger } = kinde;
  await clicks(7);
  await kinde.fault("lost_reply");
  expect(await ledger.report()).toMatchObject({ unknown: 1 });
  const { attempts } = (await ledger.states())[0]!;
  await kinde.advance(REQUEST_TIMEOUT_MS);
  await kinde.fault("forbidden", { endpoint: METER_READ, count: 10 * FLUSHES });
  await Promise.all(Array.from({ length: FLUSHES }, () => backend.action("reporter:flush", {})));
  expect((await ledger.states())[0]).toMatchObject({ attempts: attempts + 1, resend: true });
  expect(await ledger.reviews()).toEqual([]);
});

test("a read-back whose sender died is done by another one when its lease has ended", async () => {
  const { backend, ledger } = kinde;
  await clicks(7);
  await kinde.fault("lost_reply");
  await ledger.report();
  await kinde.advance(REQUEST_TIMEOUT_MS);
  const { meterId } = (await ledger.marks())[0]!;
  const claim = () => backend.mutation<{ kind: string }>("reports:claim", { meterId, learnt: null });
  expect(await claim()).toMatchObject({ kind: "read_back" });
  expect(await claim()).toEqual({ kind: "wait" });
  expect(await ledger.report()).toMatchObject({ meters: 0 });
  await kinde.advance(SEND_LEASE_MS);
  await ledger.report();
  expect(await ledger.states()).toMatchObject([{ lastOutcome: "confirmed", confirmed: { totalUnits: 7 } }]);
});

describe("a write that fails", () => {
  test.each([
    ["rate_limited", { resetSeconds: 9 }, 9_000],
    ["rate_limited_without_reset", {}, 5_000],
    ["forbidden", {}, 5_000],
  ])("%s: nothing is sent before the wait is over, then it is", async (fault, change, waitMs) => {
    await clicks(7);
    await kinde.fault(fault, change);
    expect(await kinde.ledger.report()).toMatchObject({ failed: 1, sent: 0 });
    const [mark] = await kinde.ledger.marks();
    expect(mark!.dueAtMs).toBe(kinde.backend.nowMs() + waitMs);
    expect(await kinde.ledger.report()).toMatchObject({ meters: 0 });
    expect(await kinde.total()).toBe(0);
    kinde.emulator.advance(waitMs);
    await kinde.backend.advanceMs(waitMs);
    await kinde.ledger.report();
    expect(await kinde.total()).toBe(7);
    await kinde.ledger.reconcile();
    await expectProven(7);
  });

  test("B22, B25: of two accounts one fails: the other is sent once, and only the failed one is marked", async () => {
    const other = await kinde.backend.mutation<string>("signIn:link", {
      kindeUserId: "kp_other",
      customerId: "customer_unknown",
      email: null,
    });
    await clicks(3);
    await kinde.ledger.clicks(other, 4);
    expect(await kinde.ledger.report()).toMatchObject({ sent: 1, waiting: 1 });
    const meters = await kinde.ledger.meters();
    const waiting = meters.find(({ accountId }) => accountId === other);
    expect(await kinde.ledger.marks()).toMatchObject([{ meterId: waiting!._id }]);
    await kinde.ledger.report();
    expect(await kinde.records()).toEqual(["3"]);
  });

  test("B23: a write that is there already is delivered", async () => {
    await clicks(7);
    await kinde.fault("already_exists");
    expect(await kinde.ledger.report()).toMatchObject({ sent: 1, failed: 0 });
    expect(await kinde.ledger.marks()).toEqual([]);
    await kinde.ledger.reconcile();
    await expectProven(7);
  });

  test("ten times in a row is put before a person", async () => {
    await clicks(7);
    await kinde.fault("forbidden", { count: 100 });
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await kinde.ledger.report();
      const [mark] = await kinde.ledger.marks();
      await kinde.backend.patchRow(mark!._id, { dueAtMs: kinde.backend.nowMs() });
      const [report] = await kinde.backend.readAll<{ _id: string; _creationTime: number; state: object }>(
        "reports",
      );
      await kinde.backend.patchRow(report!._id, { state: { ...report!.state, notBeforeMs: 0 } });
    }
    expect(await kinde.ledger.reviews()).toMatchObject([{ kind: "repeated_failure", status: "open" }]);
  });
});

describe("an attempt without an answer", () => {
  test.each([
    ["status_500", 0],
    ["status_502", 0],
    ["status_503", 0],
    ["lost_reply", 7],
    ["malformed_json", 7],
    ["timeout", 0],
  ])("%s: read back, and sent again when it is not there", async (fault, there) => {
    await clicks(7);
    await kinde.fault(fault);
    expect(await kinde.ledger.report()).toMatchObject({ unknown: 1 });
    expect(await kinde.total()).toBe(there);
    await kinde.advance(3 * 60_000);
    expect(await kinde.total()).toBe(7);
    expect(await kinde.ledger.states()).toMatchObject([{ unsure: null, lastOutcome: "confirmed" }]);
    expect(await kinde.ledger.marks()).toEqual([]);
    await kinde.ledger.reconcile();
    await expectProven(7);
  });

  test("B45: a write that lands after a newer total is found by read-back and written over", async () => {
    await clicks(5);
    await kinde.fault("late_write", { lateMs: 1_500 });
    await kinde.ledger.report();
    await clicks(3);
    kinde.emulator.advance(5_000);
    await kinde.backend.advanceMs(5_000);
    await kinde.ledger.report();
    await expect.poll(() => kinde.records(), { timeout: 5_000 }).toEqual(["8", "5"]);
    expect(await kinde.total()).toBe(5);
    await kinde.advance(3 * 60_000);
    expect(await kinde.records()).toEqual(["8", "5", "8"]);
    expect(await kinde.ledger.states()).toMatchObject([{ unsure: null }]);
    await kinde.ledger.reconcile();
    await expectProven(8);
  });

  test("B46: a sender that dies before its answer is followed by another one when its lease has ended", async () => {
    await kinde.signIn();
    await clicks(7);
    const [meter] = await kinde.ledger.meters();
    const claim = { meterId: meter!._id, learnt: null };
    expect(await kinde.backend.mutation("reports:claim", claim)).toMatchObject({
      kind: "send",
      totalUnits: 7,
    });
    expect(await kinde.ledger.marks()).toEqual([]);
    expect(await kinde.ledger.report()).toMatchObject({ meters: 0 });
    await kinde.advance(2 * 60_000);
    expect(await kinde.total()).toBe(7);
    await kinde.advance(3 * 60_000);
    expect(await kinde.ledger.states()).toMatchObject([{ unsure: null, lastOutcome: "confirmed" }]);
  });

  test("B24: killed after the provider accepted: the next run sends the same absolute total", async () => {
    await kinde.signIn();
    await clicks(7);
    const [meter] = await kinde.ledger.meters();
    await kinde.backend.mutation("reports:claim", { meterId: meter!._id, learnt: null });
    await kinde.write(7);
    await kinde.advance(6 * 60_000);
    expect(await kinde.total()).toBe(7);
    expect(await kinde.records()).toEqual(["7", "7"]);
    await kinde.ledger.reconcile();
    await expectProven(7);
  });
});

describe("a meter made wrong", () => {
  test("by a second writer's delta is repaired, read back, and proven; the next run adds no row", async () => {
    await clicks(10);
    await kinde.fault("second_writer", { deltaUnits: 5 });
    await kinde.ledger.report();
    expect(await kinde.total()).toBe(15);
    expect(await only()).toMatchObject({
      verdict: "over_billed",
      status: "repaired_and_confirmed",
      cause: CAUSES.meter_moved,
      meterUnits: 15,
      readBackUnits: 10,
    });
    await expectProven(10);
    expect(await kinde.ledger.evidence()).toHaveLength(1);
  });

  test("B43: a read-back that differs ends the run with an error, and nothing is called repaired", async () => {
    await clicks(10);
    await kinde.fault("second_writer", { deltaUnits: 5, count: 2 });
    await kinde.ledger.report();
    const run = await kinde.ledger.reconcile();
    expect(run).toMatchObject({ status: "failed", counts: { errors: 1, repaired: 0 } });
    expect(await kinde.ledger.evidence()).toMatchObject([
      { status: "error", readBackUnits: 15, error: "10 was written and 15 was read back" },
    ]);
    const runs = await kinde.backend.readAll<{ _id: string; _creationTime: number; name: string }>("runs");
    expect(runs.find(({ name }) => name === "reconciler")).toMatchObject({ status: "failed" });
    await kinde.advance(3 * 60_000);
    expect(await kinde.total()).toBe(10);
    await kinde.ledger.reconcile();
    await expectProven(10);
  });

  test("by a report whose answer was lost is repaired with evidence", async () => {
    await clicks(10);
    await kinde.fault("status_503");
    await kinde.ledger.report();
    await kinde.backend.advanceMs(0);
    const [report] = await kinde.backend.readAll<{ _id: string; _creationTime: number; state: object }>(
      "reports",
    );
    await kinde.backend.patchRow(report!._id, { state: { ...report!.state, notBeforeMs: 0 } });
    expect(await only()).toMatchObject({
      verdict: "under_billed",
      cause: CAUSES.report_failed,
      status: "repaired_and_confirmed",
      readBackUnits: 10,
    });
    await expectProven(10);
  });

  test("that cannot be read is unreadable, and nothing is written", async () => {
    await clicks(10);
    await kinde.ledger.report();
    await kinde.fault("status_503", { endpoint: METER_READ, count: 100 });
    expect(await only()).toMatchObject({ verdict: "unreadable", status: "unreadable", meterUnits: null });
    await kinde.endFaults();
    expect(await kinde.records()).toEqual(["10"]);
    await kinde.ledger.reconcile();
    await expectProven(10);
  });
});

describe("a plan change", () => {
  test("B44: 100 clicks before, 5 after, learnt late: the old meter has 100 and the new one 5", async () => {
    await clicks(100);
    await kinde.ledger.report();
    await kinde.advance(1_000);
    await kinde.changePlan("customer_pro_plan");
    await kinde.advance(1_000);
    await clicks(5);
    await kinde.signIn();
    await kinde.ledger.report();
    const [before, after] = await kinde.agreementIds();
    expect(before).toBe(kinde.customer.agreementId);
    expect(await kinde.total(before)).toBe(100);
    expect(await kinde.total(after)).toBe(5);
    const { meters, status } = await kinde.ledger.reconcile(kinde.accountId);
    expect(status).toBe("good");
    expect(meters.map(({ ledgerUnits, meterUnits, verdict }) => [ledgerUnits, meterUnits, verdict])).toEqual(
      expect.arrayContaining([
        [100, 100, "match"],
        [5, 5, "match"],
      ]),
    );
    expect(await kinde.ledger.reviews()).toEqual([]);
  });

  test("B44: found by the reporter when the provider refuses the old agreement", async () => {
    await clicks(100);
    await kinde.ledger.report();
    await kinde.advance(1_000);
    await kinde.changePlan("customer_pro_plan");
    await kinde.advance(1_000);
    await clicks(5);
    await kinde.ledger.report();
    await kinde.advance(2 * 60_000);
    const [before, after] = await kinde.agreementIds();
    expect(await kinde.total(before)).toBe(100);
    expect(await kinde.total(after)).toBe(5);
  });

  test("Why? of what was moved names the meter it went to, and both rows of the move say when it was booked", async () => {
    interface Found {
      readonly entry: {
        readonly id: string;
        readonly units: number;
        readonly atMs: number;
        readonly bookedAtMs: number;
      };
      readonly facts: {
        readonly ledgerUnits: number;
        readonly moved: { entryId: string; agreementId: string } | null;
      };
    }
    const why = (entryId: string) =>
      kinde.backend.as({ subject: kinde.customer.userId }).query<Found>("entries:why", { entryId });
    type Row = StoredRow & { units: number; correctsEntryId: string | null };
    await kinde.signIn();
    await clicks(1);
    await kinde.ledger.report();
    const [kept] = await kinde.backend.readAll<Row>("entries");
    expect((await why(kept!._id)).facts).toMatchObject({ moved: null, ledgerUnits: 1 });
    await kinde.advance(1_000);
    await kinde.changePlan("customer_pro_plan");
    await kinde.advance(1_000);
    await clicks(1);
    await kinde.advance(30_000);
    await kinde.signIn();
    await kinde.advance(2 * 60_000);
    const rows = await kinde.backend.readAll<Row>("entries");
    const [out, into] = rows
      .filter(({ correctsEntryId }) => correctsEntryId !== null)
      .toSorted((a, b) => a.units - b.units);
    const original = await why(out!.correctsEntryId!);
    const [, after] = await kinde.agreementIds();
    expect(original.facts).toMatchObject({
      moved: { entryId: into!._id, agreementId: after },
      ledgerUnits: 1,
    });
    for (const row of [out!, into!]) {
      const { entry, facts } = await why(row._id);
      expect(entry.atMs).toBe(original.entry.atMs);
      expect(entry.bookedAtMs - entry.atMs).toBeGreaterThanOrEqual(30_000);
      expect(facts.moved).toBeNull();
    }
  });

  test("a meter never sent whose agreement has ended says so: nothing was reported, and the provider refuses it", async () => {
    await kinde.signIn();
    await clicks(5);
    await kinde.advance(1_000);
    await kinde.changePlan("customer_pro_plan");
    await kinde.advance(1_000);
    expect(await only()).toMatchObject({ status: "error", meterUnits: 0, cause: CAUSES.never_sent });
    const [found] = await kinde.ledger.evidence();
    expect(found?.error).toContain("AGREEMENT_ENDED");
    // Now that the end is known, the meter is a closed one.
    await kinde.signIn();
    const { meters } = await kinde.ledger.reconcile(kinde.accountId);
    expect(meters[0]).toMatchObject({ verdict: "closed_cycle_drift", cause: CAUSES.closed_unsent });
  });

  test("more entries than one batch takes are moved in several", async () => {
    await clicks(10);
    await kinde.ledger.report();
    await kinde.advance(1_000);
    await kinde.changePlan("customer_pro_plan");
    await kinde.advance(1_000);
    for (let batch = 0; batch < 5; batch += 1) await clicks(100);
    await kinde.signIn();
    await kinde.advance(2 * 60_000);
    const [, after] = await kinde.agreementIds();
    expect(await kinde.total(after)).toBe(500);
    expect(await kinde.total()).toBe(10);
    const entries = await kinde.backend.readAll<{ _id: string; _creationTime: number; key: string }>(
      "entries",
    );
    // Ten pairs out of the time without an agreement, and five hundred into the new one.
    expect(entries).toHaveLength(510 + 2 * 510);
    await kinde.signIn();
    expect(await kinde.backend.readAll("entries")).toHaveLength(510 + 2 * 510);
  });
});

describe("the end of a cycle", () => {
  /** The customer signed up on 5 October at 09:00; it is two minutes before the end of that cycle. */
  const CYCLE_END_MS = Date.UTC(2026, 10, 5, 9);
  beforeEach(async () => {
    await kinde.close();
    kinde = await openKindeLedger({ aheadMs: 31 * 86_400_000 - 120_000 });
    await kinde.signIn();
    await clicks(1);
  });

  test("S9: the boundary instant belongs to the new cycle", async () => {
    await clicks(2, { atMs: CYCLE_END_MS - 1 });
    await clicks(4, { atMs: CYCLE_END_MS });
    expect(await kinde.ledger.meters()).toMatchObject([
      { cycle: "2026-10", cycleEndMs: CYCLE_END_MS },
      { cycle: "2026-11" },
    ]);
  });

  test("B41: a click before the end is flushed before it; one reported after it goes to a person", async () => {
    await kinde.advance(30_000);
    await clicks(2);
    await kinde.advance(80_000);
    expect(await kinde.total()).toBe(3);
    await clicks(4);
    await kinde.advance(8_000);
    expect(await kinde.total()).toBe(7);
    await kinde.advance(1_500);
    await clicks(8);
    await kinde.advance(60_000);
    expect(await kinde.records()).not.toContain("15");
    const late = { ledgerUnits: 15, sentUnits: 7, lateUnits: 8, maybeSentUnits: null };
    expect(await kinde.ledger.reviews()).toMatchObject([{ kind: "late_usage", status: "open", late }]);
    const run = await kinde.ledger.reconcile(kinde.accountId);
    expect(run.meters).toMatchObject([
      { verdict: "closed_cycle_drift", status: "needs_review", ledgerUnits: 15, meterUnits: 7 },
    ]);
    expect(await kinde.ledger.reviews()).toHaveLength(1);
  });

  test("a report that the cycle's end overtakes leaves nothing in the next cycle", async () => {
    await kinde.advance(118_500);
    await clicks(6);
    await kinde.fault("late_write", { lateMs: 500 });
    await kinde.ledger.report();
    kinde.emulator.advance(2_000);
    await expect.poll(() => kinde.total(), { timeout: 5_000 }).toBe(7);
    await kinde.backend.advanceMs(2_000);
    await kinde.advance(4 * 60_000);
    expect(await kinde.total()).toBe(0);
    expect(await kinde.ledger.reviews()).toMatchObject([
      { kind: "late_usage", late: { ledgerUnits: 7, maybeSentUnits: 7 } },
    ]);
  });
});
