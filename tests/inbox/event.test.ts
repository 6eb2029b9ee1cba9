import { describe, expect, test } from "vitest";
import { msOfNs, nsOfMs, parseEventNs } from "../../lib/inbox/event-time.ts";
import { parseBody, quarantineReason } from "../../lib/inbox/event.ts";
import { readEvent } from "../../lib/inbox/read-event.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../lib/shared/durations.ts";
import { event } from "./model.ts";

const AT = "2026-10-20T15:29:24Z";

describe("event time", () => {
  test("C01b: two instants 300 µs apart in one millisecond are told apart", () => {
    const later = parseEventNs("2026-10-21T02:29:24.481368869+11:00")!;
    const earlier = parseEventNs("2026-10-21T02:29:24.481068869+11:00")!;
    expect(later - earlier).toBe(300_000n);
    expect(msOfNs(later)).toBe(Date.parse("2026-10-20T15:29:24.481Z"));
    expect(msOfNs(later)).toBe(msOfNs(earlier));
  });

  test.each([
    "2026-10-21T02:29:24.481368869+11",
    "2026-10-21T02:29:24.481368869+11:00",
    "2026-10-20T15:29:24.481368869Z",
  ])("C01b: %s is the same instant", (text) => {
    expect(parseEventNs(text)).toBe(nsOfMs(Date.parse("2026-10-20T15:29:24.481Z")) + 368_869n);
  });

  test.each([
    ["2026-10-20T15:29:24Z", 0n],
    ["2026-10-20T15:29:24.4Z", 400_000_000n],
    ["2026-10-20T15:29:24.403633Z", 403_633_000n],
    ["2026-10-20T15:29:24.000000001Z", 1n],
    ["2026-10-20T15:29:24.0000000019Z", 1n],
    ["2026-10-20 15:29:24z", 0n],
    ["2026-10-20T04:29:24-1100", 0n],
  ])("fractions of any length: %s", (text, fractionNs) => {
    expect(parseEventNs(text)).toBe(nsOfMs(Date.parse(AT)) + fractionNs);
  });

  test("whole seconds and milliseconds, as number and as text", () => {
    const atMs = Date.parse(AT);
    for (const value of [atMs, atMs / 1_000, String(atMs), String(atMs / 1_000)]) {
      expect(parseEventNs(value)).toBe(nsOfMs(atMs));
    }
  });

  test.each([
    null,
    undefined,
    "",
    "soon",
    "2026-02-30T00:00:00Z",
    "2026-10-20T15:29:24",
    "2026-10-20T25:00:00Z",
    1.5,
    Number.NaN,
    -1,
    "1969-12-31T23:59:59Z",
    "2263-01-01T00:00:00Z",
    Number.MAX_SAFE_INTEGER,
    {},
    true,
  ])("no instant: %j", (value) => {
    expect(parseEventNs(value)).toBeNull();
  });

  test("event_timestamp counts, and timestamp when it is missing or none", () => {
    const [timestamp, other] = ["2026-10-20T15:29:24Z", "2026-10-20T15:29:23Z"];
    const of = (fields: object) => parseBody({ type: "t", event_id: "e", timestamp, ...fields });
    expect(of({ event_timestamp: other })).toMatchObject({ occurredAtNs: parseEventNs(other) });
    expect(of({})).toMatchObject({ occurredAtNs: parseEventNs(timestamp) });
    expect(of({ event_timestamp: "x" })).toMatchObject({ occurredAtNs: parseEventNs(timestamp) });
    expect(of({ timestamp: null })).toMatchObject({ kind: "event", occurredAtNs: null });
  });
});

describe("quarantine", () => {
  const nowMs = Date.parse("2026-10-20T12:00:00Z");
  test.each([
    ["35 h old", -35 * HOUR_MS, null],
    ["7 days old to the millisecond", -7 * DAY_MS, null],
    ["a millisecond older", -7 * DAY_MS - 1, "first seen 7.0 days after its event time; 7 days are accepted"],
    ["8 days old", -8 * DAY_MS, "first seen 8.0 days after its event time; 7 days are accepted"],
    ["2 min ahead", 2 * MINUTE_MS, null],
    ["8 days ahead", 8 * DAY_MS, "its event time is 8.0 days ahead; 7 days are accepted"],
  ])("C29: an event %s", (_, offsetMs, reason) => {
    expect(quarantineReason(nsOfMs(nowMs + offsetMs), nowMs)).toBe(reason);
  });
});

describe("what an event says", () => {
  test.each([{ key: "pro" }, { code: "pro" }, { key: "pro", code: "pro" }, { key: null, code: "pro" }])(
    "both spellings of a plan: %j",
    (plan) => {
      expect(readEvent(event("customer.plan_changed", AT, { plan }))).toMatchObject({
        subject: { userId: "kp_1", customerId: "customer_1" },
        content: { kind: "plan", fact: { kind: "plan_changed", planKey: "pro", agreementId: null } },
      });
    },
  );

  test.each([
    [{ agreement_id: "a" }, "a"],
    [{ agreement: { id: "a" } }, "a"],
    [{}, null],
  ])("an agreement named as %j", (data, agreementId) => {
    expect(readEvent(event("customer.agreement_cancelled", AT, data))).toMatchObject({
      content: { fact: { kind: "agreement_cancelled", planKey: null, agreementId } },
    });
  });

  test("a customer may be named by either id, and by both", () => {
    const data = { user_id: null, customer_id: null, customer: { id: "c" } };
    expect(readEvent(event("customer.payment_failed", AT, data))).toMatchObject({
      subject: { userId: null, customerId: "c" },
    });
    expect(readEvent(event("customer.payment_failed", AT, { customer_id: undefined }))).toMatchObject({
      subject: { userId: "kp_1", customerId: null },
    });
  });

  test.each([
    ["customer.plan_changed", { plan: null }, "data.plan"],
    ["customer.plan_changed", { plan: "pro" }, "data.plan"],
    ["customer.plan_changed", { plan: {} }, "data.plan.key"],
    ["customer.plan_changed", { plan: { key: 1 } }, "data.plan.key"],
    ["customer.plan_assigned", { plan: { code: "" } }, "data.plan.code"],
    ["customer.agreement_created", {}, "data.agreement_id"],
    ["customer.agreement_created", { agreement_id: 7 }, "data.agreement_id"],
    ["customer.payment_succeeded", { user_id: null, customer_id: null }, "data.customer_id"],
    ["customer.payment_succeeded", { customer_id: 12 }, "data.customer_id"],
    ["customer.invoice_overdue", { user_id: ["kp_1"] }, "data.user_id"],
    ["user.created", { id: undefined }, "data.user.id"],
    ["user.updated", { email: 1 }, "data.user.email"],
    ["user.deleted", { id: null }, "data.user.id"],
  ])("C35: %s with %j is dead at once, for %s", (type, data, path) => {
    const read = readEvent(event(type, AT, data));
    expect(read).toMatchObject({ kind: "permanent", path, message: expect.stringContaining(path) });
  });

  test.each([null, [], "x", 1])("C35: data %j", (data) => {
    const body = { ...event("customer.plan_changed", AT), data };
    expect(readEvent(body)).toMatchObject({ kind: "permanent", path: "data" });
  });

  test("C35: no time to be read", () => {
    const body = { ...event("customer.plan_changed", "soon"), timestamp: undefined };
    expect(readEvent(body)).toMatchObject({ kind: "permanent", path: "event_timestamp" });
  });

  test.each(["customer.plan_created", "organization.created", "constructor", "__proto__", "x"])(
    "C35: the type %s is ignored with its reason, whatever it carries",
    (type) => {
      const body = { type, event_id: "e", data: null };
      expect(readEvent(body)).toEqual({ kind: "ignored", reason: `no handler for the type ${type}` });
    },
  );

  test("a meter hint and an organization's event are ignored with their reasons", () => {
    expect(readEvent(event("customer.meter_usage_updated", AT))).toMatchObject({ kind: "ignored" });
    const of = (data: object) =>
      readEvent(event("customer.plan_changed", AT, { plan: { key: "pro" }, ...data }));
    expect(of({ customer_type: "organization" })).toMatchObject({ kind: "ignored" });
    expect(of({ customer_type: undefined, user_id: undefined, org_code: "org_1" })).toMatchObject({
      kind: "ignored",
    });
    expect(of({ customer_type: undefined, org_code: "org_1" })).toMatchObject({ kind: "read" });
  });
});
