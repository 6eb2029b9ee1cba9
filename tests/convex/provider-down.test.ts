import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { StoredRow } from "../helpers/backend.ts";
import { deliver } from "../helpers/inbox.ts";
import { openKindeLedger, METER_READ, type KindeLedger } from "../helpers/kinde-ledger.ts";

/* C32: what runs say that could not do their work because the provider was down or would not tell. */

const MINUTE_MS = 60_000;
const EVERY_READ = "GET *";

interface RunRow extends StoredRow {
  readonly name: string;
  readonly status: string;
  readonly lastStartedAtMs: number;
  readonly lastGoodAtMs: number | null;
  readonly counts: Record<string, number>;
}

let kinde: KindeLedger;
beforeEach(async () => {
  kinde = await openKindeLedger();
  await kinde.ledger.clicks(kinde.accountId, 7);
  await kinde.ledger.report();
});
afterEach(() => kinde.close());

const run = async (name: string): Promise<RunRow> =>
  (await kinde.backend.readAll<RunRow>("runs")).find((row) => row.name === name)!;
const goDown = (endpoint: string, fault = "forbidden") => kinde.fault(fault, { endpoint, count: 10_000 });
const reconcile = () => kinde.ledger.reconcile();

describe("C32: a reconciliation that cannot read the meters", () => {
  test("has failed, with its counts, and leaves the age of the last good one", async () => {
    expect(await reconcile()).toMatchObject({ status: "good", counts: { match: 1 } });
    const goodAtMs = kinde.backend.nowMs();
    await kinde.advance(MINUTE_MS);
    await goDown(EVERY_READ, "status_500");
    expect(await reconcile()).toMatchObject({
      status: "failed",
      counts: { accounts: 1, meters: 1, unreadable: 1, unread: 1, errors: 0 },
    });
    expect(await run("reconciler")).toMatchObject({ status: "failed", lastGoodAtMs: goodAtMs });
  });

  test("of one account says so as well", async () => {
    await goDown(METER_READ);
    expect(await kinde.ledger.reconcile(kinde.accountId)).toMatchObject({ status: "failed" });
  });

  test("is tried again at once, then later each time, until the meters can be read", async () => {
    await goDown(METER_READ);
    await reconcile();
    const startMs = kinde.backend.nowMs();
    const startedAfter = async (): Promise<number> =>
      ((await run("reconciler")).lastStartedAtMs - startMs) / MINUTE_MS;
    for (const [minute, before] of [
      [1, 0],
      [6, 1],
      [21, 6],
    ] as const) {
      await kinde.advance(startMs + minute * MINUTE_MS - 1 - kinde.backend.nowMs());
      expect(await startedAfter()).toBe(before);
      await kinde.advance(1);
      expect(await startedAfter()).toBe(minute);
    }
    await kinde.endFaults();
    await kinde.advance(30 * MINUTE_MS);
    expect(await run("reconciler")).toMatchObject({ status: "good", counts: { match: 1, unread: 0 } });
    await kinde.advance(60 * MINUTE_MS);
    expect(await startedAfter()).toBe(51);
  });

  test("is not tried again where another run has begun since", async () => {
    await goDown(METER_READ);
    await reconcile();
    await kinde.advance(MINUTE_MS / 2);
    await kinde.endFaults();
    await reconcile();
    const { lastStartedAtMs } = await run("reconciler");
    await kinde.advance(10 * MINUTE_MS);
    expect((await run("reconciler")).lastStartedAtMs).toBe(lastStartedAtMs);
  });
});

describe("what the provider answers for good is a finding, and no failed run", () => {
  const unreadable = { status: "good", counts: { unreadable: 1, unread: 0, errors: 0 } };

  test("C32: a closed meter whose total its records do not tell", async () => {
    await kinde.close();
    kinde = await openKindeLedger();
    const { accountId } = kinde;
    // An operator's start of the cycles outranks the provider's, which goes by another day.
    await kinde.ledger.operator.mutation("accounts:setCycleAnchor", {
      accountId,
      cycleAnchor: "2026-10-01T00:00:00Z",
    });
    await kinde.ledger.clicks(accountId, 7);
    await kinde.ledger.report();
    await kinde.advance(MINUTE_MS);
    await kinde.changePlan("customer_pro_plan");
    await kinde.signIn();
    await kinde.advance(MINUTE_MS);
    expect(await reconcile()).toMatchObject(unreadable);
  });

  test("C32: the meter of a customer who was deleted here and there", async () => {
    const { userId, customerId } = kinde.customer;
    await deliver(kinde.backend, {
      type: "user.deleted",
      event_id: "gone",
      timestamp: "2026-10-05T09:00:00Z",
      event_timestamp: "2026-10-05T09:00:00Z",
      source: "user",
      data: { user: { id: userId }, customer_id: customerId },
    });
    await kinde.advance(MINUTE_MS);
    await kinde.removeCustomer();
    expect(await reconcile()).toMatchObject(unreadable);
  });
});

describe("C32: a report that can send nothing", () => {
  const WRITES = "POST /api/v1/billing/meter_usage";

  test("has failed, as have those in which the meters only wait; one that sends is good again", async () => {
    const goodAtMs = (await run("reporter")).lastGoodAtMs;
    await goDown(WRITES);
    await kinde.ledger.clicks(kinde.accountId, 1);
    for (let minute = 0; minute < 12; minute += 1) {
      await kinde.advance(MINUTE_MS);
      expect(await run("reporter")).toMatchObject({ status: "failed", lastGoodAtMs: goodAtMs });
    }
    await kinde.endFaults();
    await kinde.advance(60 * MINUTE_MS);
    expect(await run("reporter")).toMatchObject({ status: "good" });
    expect(await kinde.total()).toBe(8);
  });
});
