import { afterEach, beforeEach, expect, test } from "vitest";
import { emulatorControl } from "../../lib/server/emulator-control.ts";
import { CONTROL_KEY, openEmulator, type TestEmulator } from "../kinde/emulator/emulator-server.ts";

let emulator: TestEmulator;
beforeEach(async () => {
  emulator = await openEmulator();
});
afterEach(() => emulator.close());

const env = (more: Record<string, string> = {}) => ({
  KINDE_EMULATOR_CONTROL_URL: emulator.url,
  KINDE_EMULATOR_CONTROL_KEY: CONTROL_KEY,
  ...more,
});

test("faults are switched on, listed with what they struck, and switched off one by one or all", async () => {
  const control = emulatorControl(env())!;
  expect(await control.list()).toEqual({ kind: "done", faults: [], struck: [] });
  expect(await control.add("lost_reply", "5")).toMatchObject({
    kind: "done",
    faults: [{ settings: { fault: "lost_reply", count: 5 }, hits: 0 }],
  });
  const both = await control.add("webhook_loss", "minute");
  expect(both).toMatchObject({ faults: [{}, { settings: { durationMs: 60_000 } }] });
  const id = both.kind === "done" ? both.faults[0]!.id : "";
  expect(await control.remove(id)).toMatchObject({ faults: [{ settings: { fault: "webhook_loss" } }] });
  expect(await control.remove(null)).toEqual({ kind: "done", faults: [], struck: [] });
});

test("a fault for one request is told after it has struck and is gone", async () => {
  const control = emulatorControl(env())!;
  await control.add("limits_down", "1");
  expect((await fetch(`${emulator.url}/api/v1/billing/entitlements`)).status).toBe(503);
  expect(await control.list()).toEqual({
    kind: "done",
    faults: [],
    struck: [
      {
        settings: { endpoint: "GET /api/v1/billing/entitlements", fault: "status_503", count: 1 },
        hits: 1,
        lastAtMs: expect.any(Number),
      },
    ],
  });
});

test("what is not on offer is refused", async () => {
  const control = emulatorControl(env())!;
  expect(await control.add("*", "1")).toEqual({ kind: "refused" });
  expect(await control.add("lost_reply", undefined)).toEqual({ kind: "refused" });
});

test("an emulator that does not answer, or not to this key, is unreachable", async () => {
  expect(await emulatorControl(env({ KINDE_EMULATOR_CONTROL_KEY: "another" }))!.list()).toEqual({
    kind: "unreachable",
  });
  expect(await emulatorControl(env({ KINDE_EMULATOR_CONTROL_URL: "http://127.0.0.1:1" }))!.list()).toEqual({
    kind: "unreachable",
  });
});

test("there is none without an address on this machine and a key", () => {
  expect(emulatorControl({})).toBeNull();
  expect(emulatorControl(env({ KINDE_EMULATOR_CONTROL_KEY: "" }))).toBeNull();
  expect(emulatorControl(env({ KINDE_EMULATOR_CONTROL_URL: "https://tenant.kinde.com" }))).toBeNull();
});
