import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { addCustomer, control, machine, type Caller, type Customer } from "./calls.ts";
import { openEmulator, type TestEmulator } from "./emulator-server.ts";

const PATH = "/api/v1/billing/meter_usage";

let emulator: TestEmulator;
let call: Caller;
let customer: Customer;
beforeEach(async () => {
  emulator = await openEmulator();
  call = await machine(emulator.url);
  // Cycles of this customer start on the 5th at 09:00 UTC.
  customer = await addCustomer(emulator.url, "grace@example.com");
});
afterEach(() => emulator.close());

function write(value: unknown, change: Record<string, unknown> = {}, agreementId = customer.agreementId) {
  return call(PATH, {
    customer_agreement_id: agreementId,
    billing_feature_code: "tokens",
    meter_value: value,
    meter_type_code: "absolute",
    ...change,
  });
}

async function read(query = "", agreementId = customer.agreementId) {
  const { json } = await call(
    `${PATH}?customer_agreement_id=${agreementId}&billing_feature_code=tokens${query}`,
  );
  return json.usage as {
    current_total: string;
    records: Record<string, string>[];
    has_more: boolean;
  };
}

describe("writing usage", () => {
  test("absolute sets the total, delta adds to it, each write is a record", async () => {
    expect((await read()).current_total).toBe("0");
    expect((await write("100")).json).toEqual({ message: "Success", code: "OK" });
    await write("7", { meter_type_code: "delta" });
    expect((await read()).current_total).toBe("107");
    await write("-2", { meter_type_code: "delta" });
    await write("50");
    const { current_total, records } = await read();
    expect(current_total).toBe("50");
    expect(records.map((record) => [record["meter_type_code"], record["meter_value"]])).toEqual([
      ["absolute", "50"],
      ["delta", "-2"],
      ["delta", "7"],
      ["absolute", "100"],
    ]);
    expect(records[0]).toMatchObject({
      meter_usage_timestamp: "2026-10-05T09:00:00.000Z",
      created_on: "2026-10-05T09:00:00.000Z",
      cycle_start: "2026-10-05T09:00:00.000Z",
    });
  });

  test("the largest amount comes back digit by digit", async () => {
    await write("9007199254740991");
    expect((await read()).current_total).toBe("9007199254740991");
    expect((await write("1", { meter_type_code: "delta" })).status).toBe(400);
  });

  test("features and agreements have meters of their own", async () => {
    await write("5");
    await write("9", { billing_feature_code: "clicks" });
    const other = await addCustomer(emulator.url, "other@example.com");
    expect((await read()).current_total).toBe("5");
    expect((await read("", other.agreementId)).current_total).toBe("0");
  });
});

describe("cycles", () => {
  test("a new cycle starts at 0 on the sign-up day, and late usage counts in it", async () => {
    await write("100");
    emulator.moveTo("2026-11-05T08:59:59.999Z");
    expect((await read()).current_total).toBe("100");
    emulator.moveTo("2026-11-05T09:00:00Z");
    expect((await read()).current_total).toBe("0");
    await write("3", { meter_type_code: "delta" });
    expect((await read()).current_total).toBe("3");
    expect((await read()).records).toHaveLength(1);
    expect((await read("&all_cycles=true")).records.map((record) => record["cycle_start"])).toEqual([
      "2026-11-05T09:00:00.000Z",
      "2026-10-05T09:00:00.000Z",
    ]);
  });

  test("a backdated write becomes its own record and does not move the live total", async () => {
    await write("100");
    emulator.moveTo("2026-11-20T00:00:00Z");
    await write("40");
    expect((await write("500", { meter_usage_timestamp: "2026-10-30T12:00:00Z" })).status).toBe(200);
    expect((await read()).current_total).toBe("40");
    expect((await read()).records).toHaveLength(1);
    const [backdated, ...rest] = (await read("&all_cycles=true")).records;
    expect(rest).toHaveLength(2);
    expect(backdated).toMatchObject({
      meter_value: "500",
      meter_usage_timestamp: "2026-10-30T12:00:00.000Z",
      created_on: "2026-11-20T00:00:00.000Z",
      cycle_start: "2026-10-05T09:00:00.000Z",
    });
  });

  test("a timestamp earlier in the current cycle moves the live total, with any spelling of the offset", async () => {
    emulator.moveTo("2026-10-20T00:00:00Z");
    await write("8", { meter_usage_timestamp: "2026-10-06T11:00:00+11" });
    const { current_total, records } = await read();
    expect(current_total).toBe("8");
    expect(records[0]!["meter_usage_timestamp"]).toBe("2026-10-06T00:00:00.000Z");
  });

  test("records come in pages", async () => {
    for (let index = 1; index <= 12; index += 1) await write(String(index));
    const first = await read();
    expect([first.records.length, first.has_more, first.current_total]).toEqual([10, true, "12"]);
    const second = await read(`&starting_after=${first.records.at(-1)!["id"]}`);
    expect([second.records.length, second.has_more, second.current_total]).toEqual([2, false, "12"]);
  });
});

describe("a plan change", () => {
  test("starts the new agreement's meter at 0; the old one takes usage from before its end only", async () => {
    await write("100");
    emulator.moveTo("2026-10-10T00:00:00Z");
    const changed = await control(emulator.url)(`/control/users/${customer.userId}/plan`, {
      planKey: "customer_pro_plan",
    });
    const newId: string = changed.json.agreement.id;
    expect((await read("", newId)).current_total).toBe("0");
    const late = await write("120");
    expect([late.status, late.json.errors[0].code]).toEqual([400, "AGREEMENT_ENDED"]);
    expect((await write("110", { meter_usage_timestamp: "2026-10-09T00:00:00Z" })).status).toBe(200);
    expect((await read()).current_total).toBe("110");
    expect((await write("1", {}, newId)).status).toBe(200);
  });
});

describe("strict mode refuses", () => {
  test.each([
    ["a number", { meter_value: 5 }, "METER_VALUE_INVALID"],
    ["the word of the specification's example", { meter_value: "pro_gym" }, "METER_VALUE_INVALID"],
    ["a fraction", { meter_value: "1.5" }, "METER_VALUE_INVALID"],
    ["a number past 2^53 - 1", { meter_value: "9007199254740992" }, "METER_VALUE_INVALID"],
    ["a negative total", { meter_value: "-1" }, "METER_VALUE_INVALID"],
    ["a delta below zero in all", { meter_value: "-1", meter_type_code: "delta" }, "METER_VALUE_INVALID"],
    ["no type", { meter_type_code: undefined }, "METER_TYPE_INVALID"],
    ["an unknown type", { meter_type_code: "total" }, "METER_TYPE_INVALID"],
    ["a feature that is not in the plan", { billing_feature_code: "storage" }, "FEATURE_NOT_METERED"],
    ["no feature", { billing_feature_code: undefined }, "INVALID_REQUEST"],
    [
      "a timestamp without an offset",
      { meter_usage_timestamp: "2026-10-05T09:00:00" },
      "METER_USAGE_TIMESTAMP_INVALID",
    ],
    [
      "a timestamp of a later cycle",
      { meter_usage_timestamp: "2026-11-05T09:00:00Z" },
      "METER_USAGE_TIMESTAMP_IN_FUTURE",
    ],
  ])("%s", async (_, change, code) => {
    const reply = await write("1", change);
    expect([reply.status, reply.json.errors[0].code]).toEqual([400, code]);
    expect((await read("&all_cycles=true")).records).toEqual([]);
  });

  test("an unknown agreement, as 404", async () => {
    expect((await write("1", {}, "agreement_0")).status).toBe(404);
  });

  test("what lenient mode takes: a number, and no type as absolute", async () => {
    const lenient = await openEmulator({ env: { KINDE_EMULATOR_STRICT: "off" } });
    call = await machine(lenient.url);
    customer = await addCustomer(lenient.url, "a@example.com");
    expect((await write(5, { meter_type_code: undefined })).status).toBe(200);
    expect((await read()).current_total).toBe("5");
    await lenient.close();
  });
});
