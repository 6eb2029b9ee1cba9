import { describe, expect, test } from "vitest";
import { apiHarness } from "./helpers/api.ts";
import { billingEvent, EVENT_ID } from "./helpers/samples.ts";

const api = await apiHarness();

describe.each([
  [`/events/${EVENT_ID}/replay`, "inboxEvents:replay"],
  [`/ops/events/${EVENT_ID}/replay`, "inboxEvents:replayAny"],
])("POST %s", (path, convexPath) => {
  test.each([
    ["running", { ...billingEvent, status: "processing" }, 409, "event_running"],
    ["forbidden", { ...billingEvent, status: "quarantined" }, 403, "forbidden"],
  ])("%s shows the event", async (kind, event, status, code) => {
    api.convex.on(convexPath, { value: { kind, event } });
    const answer = await api.call(path, { method: "POST" });
    expect(answer).toMatchObject({ status, json: { code, event } });
  });

  test("one that is not there, or somebody else's, is a 404", async () => {
    api.convex.on(convexPath, { value: { kind: "not_found" } });
    expect(await api.call(path, { method: "POST" })).toMatchObject({
      status: 404,
      json: { code: "not_found" },
    });
  });
});

test("an operator who asks for an event that is not there gets a 404", async () => {
  api.convex.on("inboxEvents:get", { value: null });
  expect(await api.call(`/ops/events/${EVENT_ID}`)).toMatchObject({ status: 404 });
});

test("a status that does not exist is a 400 that names it, and a customer cannot ask by status", async () => {
  const wrong = await api.call("/ops/events?status=lost");
  expect(wrong).toMatchObject({ status: 400, json: { errors: [{ path: "status" }] } });
  expect(await api.call("/events?status=dead")).toMatchObject({ status: 400 });
  expect(api.convex.calls).toEqual([]);
});

test("a key that is no operator's is a 403", async () => {
  const errorData = { code: "forbidden", message: "the operator key is needed" };
  api.convex.on("inboxEvents:listAll", { errorData });
  expect(await api.call("/ops/events")).toMatchObject({ status: 403, json: { code: "forbidden" } });
});
