import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  addCustomer,
  bearer,
  claimsOf,
  control,
  exchange,
  machine,
  refresh,
  send,
  signIn,
  signInForCode,
} from "./calls.ts";
import { runToEnd, startProcess, type EmulatorProcess } from "./emulator-process.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-kinde-process-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** These start several processes, each of which compiles the emulator. */
const SLOW_MS = 90_000;

let files = 0;
const newFile = () => join(folder, `${files++}.db`);

describe("the process", () => {
  let running: EmulatorProcess;
  let file: string;
  beforeEach(async () => {
    file = newFile();
    running = await startProcess({ "data-file": file });
  });
  afterEach(() => running.kill());

  test(
    "killed at any moment keeps what it answered: key, users, tokens, codes, agreements, meters",
    { timeout: SLOW_MS },
    async () => {
      const { url, port } = running;
      const tokens = await signIn(url);
      const code = await signInForCode(url, { user: claimsOf(tokens.access_token).sub! });
      const { agreementId, customerId } = await addCustomer(url, "grace@example.com", "customer_pro_plan");
      const asMachine = await machine(url);
      const path = "/api/v1/billing/meter_usage";
      await asMachine(path, {
        customer_agreement_id: agreementId,
        billing_feature_code: "tokens",
        meter_value: "41",
        meter_type_code: "absolute",
      });
      const keys = (await send(`${url}/.well-known/jwks.json`)).json;
      await running.kill();

      running = await startProcess({ "data-file": file, port: String(port) });
      expect(running.url).toBe(url);
      expect((await send(`${url}/.well-known/jwks.json`)).json).toEqual(keys);
      expect((await bearer(url, tokens.access_token)("/oauth2/v2/user_profile")).json.email).toBe(
        "ada@example.com",
      );
      expect((await refresh(url, tokens.refresh_token)).status).toBe(200);
      expect((await exchange(url, code)).status).toBe(200);
      const meter = await asMachine(
        `${path}?customer_agreement_id=${agreementId}&billing_feature_code=tokens`,
      );
      expect(meter.json.usage.current_total).toBe("41");
      const plans = await asMachine(`/api/v1/billing/entitlements?customer_id=${customerId}&expand=plans`);
      expect(plans.json.plans[0].code).toBe("customer_pro_plan");
    },
  );

  test("keeps its file to its owner, and a second process off it", async () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const second = await runToEnd({ "data-file": file });
    expect(second).toEqual({ code: 1, stderr: `kinde emulator: ${file} is in use by another process.\n` });
  });

  test(
    "takes business time from the test clock, and token time from the wall",
    { timeout: SLOW_MS },
    async () => {
      await running.kill();
      const clock = newFile();
      const state = {
        anchorVirtualMs: Date.parse("2031-01-31T00:00:00Z"),
        anchorRealMs: Date.now(),
        rate: 0,
      };
      writeFileSync(clock, JSON.stringify(state));
      running = await startProcess({ "data-file": newFile(), "test-clock": clock });
      await addCustomer(running.url, "grace@example.com");
      expect((await control(running.url)("/control/state")).json.users[0].signedUpAtMs).toBe(
        state.anchorVirtualMs,
      );
      const { iat } = claimsOf((await signIn(running.url)).access_token);
      expect(Math.abs(iat! * 1000 - Date.now())).toBeLessThan(600_000);
    },
  );

  test("ends when its parent is gone", async () => {
    // Standard input is empty here, as that of a parent that has ended.
    const { code } = await runToEnd({ "data-file": newFile(), "exit-with-parent": true });
    expect(code).toBe(0);
  });

  test("ends with 0 on SIGTERM, also while a request hangs", async () => {
    await control(running.url)("/control/faults", { endpoint: "*", fault: "timeout" });
    const hanging = send(`${running.url}/.well-known/jwks`).catch(() => "gone");
    await expect.poll(async () => (await control(running.url)("/control/log")).json.entries.length).toBe(1);
    running.child.kill("SIGTERM");
    expect(await running.ended).toBe(0);
    expect(await hanging).toBe("gone");
  });
});

describe("the process refuses with one line", () => {
  test.each([
    ["a host that is not loopback", { host: "0.0.0.0" }, {}, "--host 0.0.0.0 is not loopback"],
    ["an unknown option", { colour: "red" }, {}, "--colour"],
    [
      "a secret the SDK would refuse",
      {},
      { KINDE_CLIENT_SECRET: "short!" },
      "KINDE_CLIENT_SECRET must be 40 to 60",
    ],
  ])("%s", async (_, options, env, line) => {
    const { code, stderr } = await runToEnd({ "data-file": newFile(), ...options }, env);
    expect(code).toBe(1);
    expect(stderr).toContain(line);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).not.toContain("short!");
  });

  test(
    "no data file, a foreign file, a catalogue that is none, a clock that is none",
    { timeout: SLOW_MS },
    async () => {
      const text = newFile();
      writeFileSync(text, "not a database, but long enough to be one".repeat(100));
      const catalogue = newFile();
      writeFileSync(
        catalogue,
        JSON.stringify({
          signUpPlan: "gold",
          plans: [{ key: "free", name: "Free", monthlyPriceCents: 0, features: [] }],
        }),
      );
      const ends = await Promise.all([
        runToEnd({}),
        runToEnd({ "data-file": text }),
        runToEnd({ "data-file": newFile(), catalogue }),
        runToEnd({ "data-file": newFile(), "test-clock": text }),
      ]);
      const words = [
        "--data-file is missing",
        "is no database",
        "signUpPlan: names no plan",
        "clock file is not JSON",
      ];
      for (const [index, { code, stderr }] of ends.entries()) {
        expect(code).toBe(1);
        expect(stderr).toContain(words[index]);
      }
    },
  );

  test("a port in use, naming the option that changes it", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const port = String((other.address() as AddressInfo).port);
    const { stderr } = await runToEnd({ "data-file": newFile(), port });
    expect(stderr).toContain(`Port ${port} is in use`);
    expect(stderr).toContain("--kinde-port");
    other.close();
  });
});
