import { expect, test } from "vitest";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../lib/shared/durations.ts";
import { addCustomer, control } from "./calls.ts";
import { openEmulator } from "./emulator-server.ts";
import { claimsOf, deliveriesOf, openReceiver, settled, verified } from "./webhook-receiver.ts";

const PLANS = ["customer_free_plan", "customer_starter_plan", "customer_pro_plan"];

const WAITS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  4 * HOUR_MS,
  12 * HOUR_MS,
  12 * HOUR_MS,
];

test("copies, another order, forged attempts, a rotation and 35 hours of outage: every event arrives, verified", async () => {
  const receiver = await openReceiver();
  const emulator = await openEmulator({ env: { KINDE_EMULATOR_WEBHOOK_URL: receiver.url } });
  const { url } = emulator;
  const call = control(url);
  const arrived = new Set<unknown>();
  receiver.answer = (webhook) =>
    verified(url, webhook).then(
      ({ event_id }) => {
        arrived.add(event_id);
        return 200;
      },
      () => 401,
    );
  for (const settings of [
    { fault: "webhook_duplicate", probability: 0.3, seed: 1 },
    { fault: "webhook_reorder", probability: 0.5, seed: 2, delayMs: 10_000 },
    { fault: "webhook_bad_signature", probability: 0.2, seed: 3 },
    { fault: "webhook_unknown_kid", probability: 0.2, seed: 4 },
  ]) {
    expect((await call("/control/faults", { endpoint: "*", ...settings })).status).toBe(201);
  }
  const outage = await call("/control/faults", { endpoint: "*", fault: "webhook_outage" });

  const customers = await Promise.all([0, 1, 2].map((index) => addCustomer(url, `c${index}@example.com`)));
  for (let round = 0; round < 5; round += 1) {
    for (const [index, { userId }] of customers.entries()) {
      const planKey = PLANS[(round + index) % PLANS.length];
      expect((await call(`/control/users/${userId}/plan`, { planKey })).status).toBe(200);
    }
  }

  const settle = () => settled(url, emulator.nowMs);
  // What was held back goes out, then all of it at each of the documented waits, and then 35 hours are over.
  for (const waitMs of [10_000, ...WAITS_MS, 5.75 * HOUR_MS]) {
    emulator.advance(waitMs);
    await settle();
  }
  expect(arrived.size).toBe(0);
  await call(`/control/faults?id=${outage.json.id}`, undefined, "DELETE");
  await call("/control/keys/rotate", { retireOld: true });
  emulator.advance(1.25 * HOUR_MS);
  expect((await settle()).filter(({ status }) => status === "pending")).toEqual([]);
  expect(arrived.size).toBeGreaterThan(0);
  // The last attempt of some was forged. An operator sends those by hand.
  for (;;) {
    const open = (await settle()).filter(({ status }) => status !== "delivered");
    if (open.length === 0) break;
    for (const { id } of open) await call(`/control/webhooks/${id}/send`, {});
  }

  const deliveries = await deliveriesOf(url);
  expect(arrived).toEqual(new Set(deliveries.map(({ eventId }) => eventId)));
  const copies = receiver.received.map((webhook) => claimsOf(webhook)["event_id"]);
  expect(copies.length).toBeGreaterThan(new Set(copies).size);
  await emulator.close();
  await receiver.close();
});
