import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { StoredRow } from "../helpers/backend.ts";
import { customerEvent, type CustomerRow, deliver, FREE, PRO } from "../helpers/inbox.ts";
import { openKindeLedger, type KindeLedger } from "../helpers/kinde-ledger.ts";
import { addCustomer, control, type Customer } from "../kinde/emulator/calls.ts";

/*
 * Where the cycles of a customer start who never signs in here: their account is made by a billing event. What the event
 * tells and what the provider counts by are the same moment, told in two ways.
 */

const ENTITLEMENTS = "GET /api/v1/billing/entitlements";
const EVENT_LATER_MS = 2;

interface AccountRow extends CustomerRow {
  readonly cycleAnchorMs: number;
  readonly cycleAnchorSource: string;
}

let kinde: KindeLedger;
let customer: Customer;
let subscribedAtMs: number;
beforeEach(async () => {
  kinde = await openKindeLedger();
  customer = await addCustomer(kinde.emulator.url, "never@example.com");
  subscribedAtMs = kinde.emulator.nowMs();
  await kinde.advance(60_000);
});
afterEach(() => kinde.close());

/** Delivers the event and runs what it wakes. */
async function tell(type: string, agreementId: string, planKey: string, atMs: number): Promise<void> {
  const at = new Date(atMs).toISOString();
  const { userId, customerId } = customer;
  const data = {
    user_id: userId,
    customer_id: customerId,
    agreement_id: agreementId,
    plan: { key: planKey },
  };
  await deliver(kinde.backend, customerEvent(type, `${type} ${at}`, at, data));
  await kinde.backend.advanceMs(0);
}
const tellOfSignUp = () =>
  tell("agreement_created", customer.agreementId, FREE, subscribedAtMs + EVENT_LATER_MS);

async function account(): Promise<AccountRow> {
  const rows = await kinde.backend.readAll<AccountRow>("accounts");
  return rows.find(({ customerId }) => customerId === customer.customerId)!;
}
const click = async (count: number) => kinde.ledger.clicks((await account())._id, count);

test("the start of the cycles is read from the provider before anything is counted", async () => {
  await tellOfSignUp();
  expect(await account()).toMatchObject({
    cycleAnchorMs: subscribedAtMs,
    cycleAnchorSource: "subscription",
  });
});

describe("while the provider cannot be read", () => {
  beforeEach(() => kinde.fault("status_503", { endpoint: ENTITLEMENTS, count: 1_000 }));

  test("the event's instant is taken, and the lease on the limit given back", async () => {
    await tellOfSignUp();
    expect(await account()).toMatchObject({
      cycleAnchorMs: subscribedAtMs + EVENT_LATER_MS,
      cycleAnchorSource: "agreement",
    });
    const limits = await kinde.backend.readAll<StoredRow & { refreshFailure: string }>("limits");
    expect(limits).toMatchObject([{ refreshLeaseExpiresAtMs: null, readAtMs: null }]);
  });

  test("B44: an upgrade after 100 clicks leaves 100 on the old meter and 5 on the new one, both proven", async () => {
    await tellOfSignUp();
    await click(100);
    await kinde.endFaults();
    await kinde.ledger.report();
    await kinde.advance(60_000);
    const upgraded = await control(kinde.emulator.url)(`/control/users/${customer.userId}/plan`, {
      planKey: PRO,
    });
    const agreementId = upgraded.json.agreement.id as string;
    await tell("plan_changed", agreementId, PRO, kinde.emulator.nowMs());
    await tell("agreement_cancelled", customer.agreementId, FREE, kinde.emulator.nowMs() + 5);
    await kinde.advance(1_000);
    await click(5);
    await kinde.ledger.report();
    expect((await account()).cycleAnchorMs).toBe(subscribedAtMs + EVENT_LATER_MS);

    const { meters, status } = await kinde.ledger.reconcile((await account())._id);
    expect(status).toBe("good");
    expect(
      meters.map((meter) => [meter.agreementId, meter.ledgerUnits, meter.meterUnits, meter.verdict]),
    ).toEqual([
      [customer.agreementId, 100, 100, "match"],
      [agreementId, 5, 5, "match"],
    ]);
    expect(await kinde.ledger.reviews()).toEqual([]);
  });
});

describe("a clock of ours that is behind the provider's", () => {
  const earlyMs = (): number => subscribedAtMs + EVENT_LATER_MS - 1_500;
  const clickAt = async (count: number, atMs: number) =>
    kinde.ledger.clicks((await account())._id, count, { atMs });
  const unitsByAgreement = async () =>
    (await kinde.ledger.reconcile((await account())._id)).meters.map((meter) => [
      meter.agreementId,
      meter.ledgerUnits,
      meter.meterUnits,
      meter.verdict,
    ]);

  test("what is used in the first moments of the first agreement is sent under it, in its cycle", async () => {
    await tellOfSignUp();
    await clickAt(7, earlyMs());
    await kinde.ledger.report();
    expect(await unitsByAgreement()).toEqual([[customer.agreementId, 7, 7, "match"]]);
    expect(await kinde.ledger.reviews()).toEqual([]);
  });

  test("also when the agreement is heard of afterwards, and what was used long before it stays out", async () => {
    const { userId, customerId } = customer;
    await kinde.backend.mutation("signIn:link", { kindeUserId: userId, customerId, email: null });
    await kinde.backend.patchRow((await account())._id, { cycleAnchorMs: subscribedAtMs - 86_400_000 });
    await clickAt(7, earlyMs());
    await clickAt(3, earlyMs() - 60_000);
    await tellOfSignUp();
    await kinde.ledger.report();
    expect(await unitsByAgreement()).toEqual([[customer.agreementId, 7, 7, "match"]]);
    const unsent = (await kinde.ledger.meters()).filter(({ agreementId }) => agreementId === null);
    expect(unsent).toHaveLength(1);
  });
});
