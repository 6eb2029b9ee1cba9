import { expect, test } from "vitest";

import { inboxFaults } from "../../lib/inbox/environment.ts";
import { endOnFaultySettings } from "../../lib/server/start-check.ts";

const SECRET = `whsec_${"c2VjcmV0".repeat(4)}`;
const GOOD = {
  HOLDFAST_ALERT_URL: "https://hooks.example/T0/canary",
  HOLDFAST_ALERT_SECRET: SECRET,
  HOLDFAST_ALLOWANCES: "my_free_plan=10,my_pro_plan=500",
  HOLDFAST_WEBHOOK_SILENCE_HOURS: "24",
};

test.each<[string, Record<string, string | undefined>]>([
  ["nothing", {}],
  ["everything", GOOD],
  ["an address on this machine", { ...GOOD, HOLDFAST_ALERT_URL: "http://127.0.0.1:9000/alerts" }],
  ["empty values", Object.fromEntries(Object.keys(GOOD).map((name) => [name, ""]))],
])("%s set is fine", (_name, env) => {
  expect(inboxFaults(env)).toEqual([]);
});

test.each<[variable: string, value: string | undefined, message: string]>([
  ["HOLDFAST_ALERT_URL", "hooks.example", "is not a URL"],
  ["HOLDFAST_ALERT_URL", "http://hooks.example/canary", "https:// outside this machine"],
  ["HOLDFAST_ALERT_URL", "ftp://127.0.0.1/canary", "https:// outside this machine"],
  ["HOLDFAST_ALERT_URL", "https://canary:canary@hooks.example/", "user name"],
  ["HOLDFAST_ALERT_SECRET", undefined, "is not set, but HOLDFAST_ALERT_URL is"],
  ["HOLDFAST_ALERT_SECRET", "canary", "whsec_"],
  ["HOLDFAST_ALLOWANCES", "my_free_plan", "my_free_plan"],
  ["HOLDFAST_ALLOWANCES", "a=1,a=2", "named twice"],
  ["HOLDFAST_WEBHOOK_SILENCE_HOURS", "0", "from 1 to 8760"],
  ["HOLDFAST_WEBHOOK_SILENCE_HOURS", "1.5", "from 1 to 8760"],
  ["HOLDFAST_WEBHOOK_SILENCE_HOURS", "8761", "from 1 to 8760"],
])("%s=%s is one line that shows no secret", (variable, value, message) => {
  const faults = inboxFaults({ ...GOOD, [variable]: value });
  expect(faults).toEqual([{ variable, message: expect.stringContaining(message) }]);
  expect(faults[0]!.message.startsWith(`${variable} `)).toBe(true);
  expect(JSON.stringify(faults)).not.toContain("canary");
});

test("the web server does not start with one", () => {
  const written: string[] = [];
  const host = {
    env: { HOLDFAST_WEBHOOK_SILENCE_HOURS: "soon" } as unknown as NodeJS.ProcessEnv,
    stderr: { write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream,
    exit: ((code: number) => written.push(`exit ${code}`)) as unknown as NodeJS.Process["exit"],
  };
  endOnFaultySettings(host as Parameters<typeof endOnFaultySettings>[0]);
  expect(written.join("")).toContain("HOLDFAST_WEBHOOK_SILENCE_HOURS must be");
  expect(written.at(-1)).toBe("exit 1");
});
