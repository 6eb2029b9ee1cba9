import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { addCustomer, control, machine } from "./calls.ts";
import { startProcess, type EmulatorProcess } from "./emulator-process.ts";
import { claimsOf, deliveriesOf, openReceiver, tell, verified, type Receiver } from "./webhook-receiver.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-webhooks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** These start several processes, each of which compiles the emulator. */
const SLOW_MS = 90_000;
const WAIT = { timeout: 30_000 };

let files = 0;
let file: string;
let receiver: Receiver;
let running: EmulatorProcess | null;
beforeEach(async () => {
  file = join(folder, `${files++}.db`);
  receiver = await openReceiver();
  running = null;
});
afterEach(async () => {
  await running?.kill();
  await receiver.close();
});

async function start(env: Record<string, string> = {}): Promise<string> {
  const all = { KINDE_EMULATOR_WEBHOOK_URL: receiver.url, ...env };
  running = await startProcess({ "data-file": file }, all);
  return running.url;
}

async function kill(): Promise<void> {
  await running!.kill();
}

const statuses = async (url: string) => (await deliveriesOf(url)).map(({ status }) => status);

describe("killed", () => {
  test(
    "before an answer: all that happened is sent after the restart, under the same ids",
    { timeout: SLOW_MS },
    async () => {
      receiver.answer = () => "hang";
      let url = await start();
      const { userId } = await addCustomer(url, "grace@example.com");
      for (let index = 0; index < 20; index += 1) await tell(url, userId, "payment_succeeded");
      await expect.poll(() => receiver.received.length).toBe(8);
      await kill();
      receiver.answer = () => 200;
      url = await start();
      await expect.poll(() => statuses(url), WAIT).toEqual(Array.from({ length: 23 }, () => "delivered"));
      const deliveries = await deliveriesOf(url);
      const ids = new Set(receiver.received.map(({ webhookId }) => webhookId));
      expect(ids).toEqual(new Set(deliveries.map(({ id }) => id)));
      const events = new Set(receiver.received.map((webhook) => claimsOf(webhook)["event_id"]));
      expect(events).toEqual(new Set(deliveries.map(({ eventId }) => eventId)));
      expect(receiver.received).toHaveLength(8 + 23);
      // The key is kept too.
      expect(await verified(url, receiver.received[0]!)).toMatchObject({ source: "admin" });
    },
  );

  test(
    "between two attempts: the schedule goes on where it was, until 36 hours are over",
    { timeout: SLOW_MS },
    async () => {
      receiver.answer = () => 503;
      // 36 hours of retries take 2.6 s, and the 72 hours that disable the endpoint as long again.
      const fast = { KINDE_EMULATOR_WEBHOOK_TIME_SCALE: "0.00002" };
      let url = await start();
      const { userId } = await addCustomer(url, "grace@example.com");
      await expect.poll(() => statuses(url), WAIT).toHaveLength(3);
      await expect.poll(() => receiver.received.length).toBe(3);
      await kill();
      url = await start(fast);
      await expect.poll(() => statuses(url), WAIT).toEqual(["given_up", "given_up", "given_up"]);
      for (const { attempts, attemptsMade } of await deliveriesOf(url)) {
        expect([attempts.length, attemptsMade]).toEqual([10, 10]);
      }
      // It goes on failing until it is disabled; nothing is queued for it from then on.
      const endpoint = async () => (await control(url)("/control/webhooks")).json.endpoints[0];
      await expect
        .poll(async () => {
          await tell(url, userId, "payment_succeeded");
          return (await endpoint()).disabledAtMs;
        }, WAIT)
        .not.toBeNull();
      await kill();
      url = await start(fast);
      expect((await endpoint()).disabledReason).toContain("72 hours");
    },
  );
});

test(
  "the default endpoint is one over restarts, follows its setting, and goes with it",
  { timeout: SLOW_MS },
  async () => {
    const endpoints = async (url: string) => (await (await machine(url))("/api/v1/webhooks")).json.webhooks;
    const [first] = await endpoints(await start());
    await kill();
    expect(await endpoints(await start())).toEqual([first]);
    await kill();
    const moved = `${receiver.url}/new`;
    expect(await endpoints(await start({ KINDE_EMULATOR_WEBHOOK_URL: moved }))).toEqual([
      { ...first, endpoint: moved },
    ]);
    await kill();
    running = await startProcess({ "data-file": file });
    expect(await endpoints(running.url)).toEqual([]);
  },
);

test(
  "ends with 0 on SIGTERM while a delivery is on its way, and sends it at the next start",
  { timeout: SLOW_MS },
  async () => {
    receiver.answer = () => "hang";
    let url = await start();
    await addCustomer(url, "grace@example.com");
    await expect.poll(() => receiver.received.length).toBe(3);
    running!.child.kill("SIGTERM");
    expect(await running!.ended).toBe(0);
    receiver.answer = () => 200;
    url = await start();
    await expect.poll(() => statuses(url), WAIT).toEqual(["delivered", "delivered", "delivered"]);
  },
);

test("a state file from before webhooks goes on, with all that is in it", { timeout: SLOW_MS }, async () => {
  let url = await start();
  const { userId } = await addCustomer(url, "grace@example.com");
  await kill();
  const db = new Database(file);
  const names = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'webhook%'")
    .pluck()
    .all() as string[];
  for (const name of names) db.exec(`DROP TABLE ${name}`);
  db.pragma("user_version = 1");
  db.close();
  receiver.received.length = 0;
  url = await start();
  expect((await control(url)("/control/state")).json.users).toMatchObject([{ id: userId }]);
  await tell(url, userId, "payment_succeeded");
  await expect.poll(() => receiver.received.length, WAIT).toBe(1);
});
