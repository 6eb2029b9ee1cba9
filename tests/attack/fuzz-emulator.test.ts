import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { controlRoutes } from "../../lib/kinde/emulator/control.ts";
import { Faults } from "../../lib/kinde/emulator/faults.ts";
import { RequestLog } from "../../lib/kinde/emulator/request-log.ts";
import { PUBLIC_ROUTES } from "../../lib/kinde/emulator/server.ts";
import { addCustomer, authUrl, machineToken, signIn } from "../kinde/emulator/calls.ts";
import { CONTROL_KEY, EMULATOR_ENV } from "../kinde/emulator/emulator-server.ts";
import { type EmulatorProcess, startProcess } from "../kinde/emulator/emulator-process.ts";
import { fuzz, type FuzzSeed } from "./fuzz.ts";

/** The emulator as a process of its own, under requests that make no sense: it answers each, and goes on being right. */

/** A process starts and many requests are sent: on a busy machine that takes its time. */
const TIMEOUT_MS = 120_000;

let folder: string;
let emulator: EmulatorProcess;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-fuzz-"));
  emulator = await startProcess({ "data-file": join(folder, "kinde.sqlite") });
});
afterAll(async () => {
  await emulator?.kill();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * Switched on at random, faults would make answers of the kind that is looked for; backups would write files, and each
 * new signing key takes longer than a hundred requests.
 */
const LEFT_OUT = new Set(["/control/faults", "/control/backup", "/control/keys/rotate"]);
const routes = [...PUBLIC_ROUTES, ...controlRoutes(new Faults(), new RequestLog())].filter(
  ({ path }) => !LEFT_OUT.has(path),
);

test.each([1, 2])(
  "seed %d: 500 bent requests, no fault, no hang, and people sign in as before",
  { timeout: TIMEOUT_MS },
  async (seed) => {
    const { url } = emulator;
    const customer = await addCustomer(url, `fuzz${seed}@example.org`);
    const user = await signIn(url, { given_name: "Ada", family_name: "L", email: `ada${seed}@example.org` });
    const machine = (await machineToken(url)).json.access_token as string;
    const words = [
      ...Object.values(customer),
      "clicks",
      "customer_pro_plan",
      "user_id",
      "customer_agreement_id",
    ];
    const json = JSON.stringify({
      customer_agreement_id: customer.agreementId,
      billing_feature_code: "clicks",
      meter_value: "5",
      meter_type_code: "absolute",
      planKey: "customer_pro_plan",
      userId: customer.userId,
      givenName: "A",
      email: "x@example.org",
    });
    const form = new URLSearchParams({
      grant_type: "authorization_code",
      client_id: EMULATOR_ENV["KINDE_CLIENT_ID"]!,
      client_secret: EMULATOR_ENV["KINDE_CLIENT_SECRET"]!,
      code: "x",
      user: customer.userId,
    }).toString();
    const seeds: FuzzSeed[] = routes.flatMap(({ method, path }) => {
      const filled = path.replace(/\{\w+\}/g, customer.userId);
      const queried = path === "/oauth2/auth" ? authUrl("") : `${filled}?user_id=${customer.userId}`;
      return [
        { method, path: queried, body: json },
        { method, path: queried, body: form },
      ];
    });
    const keys: Record<string, string>[] = [
      {},
      { authorization: `Bearer ${CONTROL_KEY}` },
      { authorization: `Bearer ${machine}` },
      { authorization: `Bearer ${user.access_token}` },
      { authorization: "Bearer a.b.c" },
      { origin: "https://evil.example" },
    ];
    const { faults, statuses } = await fuzz({ url, seeds, keys, words }, seed, 500);
    expect(faults).toEqual([]);
    expect(Object.keys(statuses)).toEqual(expect.arrayContaining(["200", "400", "401", "403", "404", "405"]));
    expect(emulator.child.exitCode).toBeNull();
    const again = await signIn(url, { given_name: "Bo", family_name: "L", email: `bo${seed}@example.org` });
    expect(again.access_token.split(".")).toHaveLength(3);
  },
);
