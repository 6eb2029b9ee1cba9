import { beforeEach, expect, test } from "vitest";
import { OK, START_MS, useBench } from "./fixtures.ts";
import { json, type Step } from "./scripted-server.ts";

const PATH = "/api/v1/webhooks";
const bench = useBench();
beforeEach(() => {
  bench.store.token = { accessToken: "good", expiresAtMs: START_MS + 3_600_000 };
});
const webhook = { id: "webhook_1", name: "app", endpoint: "https://app.example/api/webhooks/kinde" };

test("endpoints are listed with what is known of them", async () => {
  const webhooks = [
    { ...webhook, is_disabled: false },
    { ...webhook, id: "webhook_2", is_disabled: true },
    { ...webhook, id: "webhook_3" },
    { ...webhook, id: "webhook_4", is_disabled: null },
  ];
  bench.server.script(PATH, { ...OK, webhooks });
  const read = await bench.client().readWebhooks();
  expect(read).toMatchObject({ kind: "read" });
  const states = "webhooks" in read ? read.webhooks.map(({ isDisabled }) => isDisabled) : [];
  expect(states).toEqual([false, true, null, null]);
});

test("a tenant without any has an empty list", async () => {
  bench.server.script(PATH, { ...OK, webhooks: null });
  expect(await bench.client().readWebhooks()).toEqual({ kind: "read", webhooks: [] });
});

test.each<[name: string, step: Step, code: string]>([
  ["a missing scope", json(403, { errors: [{ code: "SCOPE_MISSING", message: "?" }] }), "forbidden"],
  ["an unknown route", json(404, {}), "not_found"],
  ["no list", json(200, OK), "bad_answer"],
])("%s is a failure", async (_name, step, code) => {
  bench.server.script(PATH, step);
  expect(await bench.client().readWebhooks()).toMatchObject({ kind: "failed", code });
});

test("all pages are read, each after the last id of the one before", async () => {
  bench.server.script(
    PATH,
    { ...OK, webhooks: [webhook], has_more: true },
    { ...OK, webhooks: [{ ...webhook, id: "webhook_2" }], has_more: false },
  );
  const read = await bench.client().readWebhooks();
  expect("webhooks" in read ? read.webhooks.map(({ id }) => id) : read).toEqual(["webhook_1", "webhook_2"]);
});
