import { describe, expect, test } from "vitest";
import { apiHarness } from "./helpers/api.ts";
import { reminder, REMINDER_ID } from "./helpers/samples.ts";

const api = await apiHarness();
const good = { key: "ferns", text: reminder.text, dueAtMs: reminder.dueAtMs };
const create = (body: unknown) => api.call("/reminders", { method: "POST", body });

test("without a credit left it is a 402 with the numbers and the instant of the next ones", async () => {
  const numbers = { balanceUnits: 0, allowanceUnits: 10, nextPeriodStartMs: Date.UTC(2026, 10, 1) };
  api.convex.on("reminders:create", { value: { kind: "refused", code: "no_credits", ...numbers } });
  const answer = await create(good);
  expect(answer.status).toBe(402);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(answer.json).toMatchObject({ code: "no_credits", ...numbers });
  expect(answer.json.detail).toContain("2026-11-01T00:00:00.000Z");
});

test("a repeat of a key is a 200, another request with it a 409", async () => {
  api.convex.on(
    "reminders:create",
    { value: { kind: "created", reminder, replayed: true } },
    { value: { kind: "key_conflict" } },
  );
  expect(await create(good)).toMatchObject({ status: 200, json: { reminder, replayed: true } });
  expect(await create(good)).toMatchObject({ status: 409, json: { code: "key_conflict" } });
});

test("faults that the backend finds come with the names of their fields", async () => {
  const errors = [{ path: "dueAtMs", message: "dueAtMs must be later" }];
  api.convex.on("reminders:create", { value: { kind: "invalid", errors } });
  expect(await create(good)).toMatchObject({ status: 400, json: { code: "invalid", errors } });
});

describe("what is no reminder is refused before Convex is asked", () => {
  test.each<[string, object, string, string]>([
    ["no key", { key: undefined }, "key", "invalid"],
    ["an empty text", { text: "" }, "text", "invalid"],
    ["a blank text", { text: " \n" }, "text", "invalid"],
    ["a text that is too long", { text: "x".repeat(1_001) }, "text", "invalid"],
    ["a tab", { text: "a\tb" }, "text", "invalid"],
    ["half of a character", { text: "a\uD83D" }, "text", "invalid"],
    ["a time as text", { dueAtMs: "tomorrow" }, "dueAtMs", "invalid"],
    ["half a millisecond", { dueAtMs: 1.5 }, "dueAtMs", "out_of_range"],
    ["a field that is not known", { due: 1 }, "due", "invalid"],
  ])("%s", async (_what, more, path, code) => {
    const answer = await create({ ...good, ...more });
    expect(answer).toMatchObject({ status: 400, json: { code, errors: [{ path }] } });
    expect(api.convex.calls).toEqual([]);
  });

  test("a status that does not exist", async () => {
    expect(await api.call("/reminders?status=read")).toMatchObject({ status: 400 });
  });
});

test("a reminder that is due is a 409 that shows it, one of somebody else a 404", async () => {
  const delivered = { ...reminder, status: "delivered", deliveredAtMs: reminder.dueAtMs };
  api.convex.on(
    "reminders:cancel",
    { value: { kind: "too_late", reminder: delivered } },
    { value: { kind: "not_found" } },
  );
  const cancel = () => api.call(`/reminders/${REMINDER_ID}`, { method: "DELETE" });
  expect(await cancel()).toMatchObject({ status: 409, json: { code: "too_late", reminder: delivered } });
  expect(await cancel()).toMatchObject({ status: 404, json: { code: "not_found" } });
});

test("a method that the path does not know is a 405", async () => {
  expect(await api.call(`/reminders/${REMINDER_ID}`, { method: "PATCH", body: {} })).toMatchObject({
    status: 405,
  });
});
