import { afterEach, beforeEach, expect, test } from "vitest";

import type { FunctionReturnType } from "convex/server";
import type { api } from "../../convex/_generated/api";
import { METER_READ, METER_WRITE, openKindeLedger, type KindeLedger } from "../helpers/kinde-ledger.ts";
import { createTenant } from "../helpers/tenant.ts";
import { ledgerOf } from "../helpers/ledger.ts";

type Meters = FunctionReturnType<typeof api.screensUsage.meters>;

/** What an account is told of its own meters. */

let kinde: KindeLedger;
beforeEach(async () => {
  kinde = await openKindeLedger();
  await kinde.signIn();
});
afterEach(() => kinde.close());

const mine = () => kinde.backend.as({ subject: kinde.customer.userId });
const meters = async () => (await mine().query<Meters>("screensUsage:meters", {})).meters;

test("what was sent is not proven until a reconciliation has read the provider's meter", async () => {
  expect(await meters()).toEqual([]);
  await kinde.ledger.clicks(kinde.accountId, 3);
  await kinde.ledger.report();
  const sent = { feature: "clicks", ledgerUnits: 3, sent: { totalUnits: 3 } };
  expect(await meters()).toMatchObject([{ ...sent, standing: "confirmed", reading: null }]);
  // Somebody else writes to the meter: sent and ledger go on agreeing.
  await kinde.write(7);
  expect(await meters()).toMatchObject([{ ...sent, standing: "confirmed", reading: null }]);
  await kinde.ledger.reconcile(kinde.accountId);
  const repaired = { foundUnits: 7, meterUnits: 3, ledgerUnits: 3, status: "repaired_and_confirmed" };
  expect(await meters()).toMatchObject([{ standing: "repaired", reading: repaired }]);
  await kinde.ledger.reconcile(kinde.accountId);
  expect(await meters()).toMatchObject([{ standing: "proven", reading: { isSeenAgain: true } }]);
});

test("a repair that does not arrive leaves the meter different, and its errors are for operators", async () => {
  await kinde.ledger.clicks(kinde.accountId, 3);
  await kinde.ledger.report();
  await kinde.write(7);
  await kinde.fault("forbidden", { endpoint: METER_WRITE, count: 5 });
  await kinde.ledger.reconcile(kinde.accountId);
  const [meter] = await meters();
  expect(meter).toMatchObject({
    standing: "error",
    reading: { foundUnits: 7, ledgerUnits: 3, status: "error" },
  });
  expect(meter?.reading).not.toHaveProperty("error");
});

test("a meter that cannot be read is not proven any more", async () => {
  await kinde.ledger.clicks(kinde.accountId, 3);
  await kinde.ledger.report();
  await kinde.ledger.reconcile(kinde.accountId);
  await kinde.fault("forbidden", { endpoint: METER_READ, count: 5 });
  await kinde.ledger.reconcile(kinde.accountId);
  expect(await meters()).toMatchObject([{ standing: "unreadable", reading: { foundUnits: null } }]);
});

test("an account sees its own meters, and without a customer at the provider nothing sent or read", async () => {
  await kinde.ledger.clicks(kinde.accountId, 3);
  const other = await createTenant(kinde.backend);
  const read = async () => (await other.query<Meters>("screensUsage:meters", {})).meters;
  expect(await read()).toEqual([]);
  const ledger = ledgerOf(kinde.backend);
  await ledger.clicks(other.accountId, 5);
  await ledger.report();
  await ledger.reconcile(other.accountId);
  const here = { isAtProvider: false, standing: "kept_here", sent: null, reading: null };
  expect(await read()).toMatchObject([{ ledgerUnits: 5, ...here }]);
});
