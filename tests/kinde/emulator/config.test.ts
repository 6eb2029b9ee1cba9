import { describe, expect, test } from "vitest";
import { ConfigError, readConfig } from "../../../lib/kinde/emulator/config.ts";
import { EMULATOR_ENV } from "./emulator-server.ts";

describe("the settings", () => {
  test("have defaults that are strict", () => {
    expect(readConfig(EMULATOR_ENV)).toMatchObject({
      siteOrigin: "http://localhost:3000",
      tokenLifeSeconds: 86_400,
      refreshOverlapSeconds: 30,
      refreshAnswer: "same",
      strict: true,
      webhookUrl: null,
      webhookTimeScale: 1,
      webhookTimeoutMs: 10_000,
      webhookIss: "none",
    });
  });

  test.each([
    [{ KINDE_CLIENT_ID: undefined }, "KINDE_CLIENT_ID is missing."],
    [{ KINDE_CLIENT_ID: "" }, "KINDE_CLIENT_ID is missing."],
    [{ KINDE_SITE_URL: undefined }, "KINDE_SITE_URL is missing."],
    [{ KINDE_CLIENT_SECRET: "x!".repeat(20) }, "KINDE_CLIENT_SECRET must be 40 to 60 letters and digits."],
    [
      { KINDE_M2M_CLIENT_SECRET: "x".repeat(61) },
      "KINDE_M2M_CLIENT_SECRET must be 40 to 60 letters and digits.",
    ],
    [{ KINDE_EMULATOR_CONTROL_KEY: "short" }, "KINDE_EMULATOR_CONTROL_KEY must have at least 16 characters."],
    [{ KINDE_SITE_URL: "http://localhost:3000/" }, "KINDE_SITE_URL must not end in a slash."],
    [{ KINDE_SITE_URL: "localhost:3000" }, "KINDE_SITE_URL must be an http or https origin"],
    [{ KINDE_SITE_URL: "http://localhost:3000/app" }, "KINDE_SITE_URL must be an http or https origin"],
    [{ KINDE_EMULATOR_TOKEN_LIFE_SECONDS: "0" }, "KINDE_EMULATOR_TOKEN_LIFE_SECONDS must be a whole number"],
    [
      { KINDE_EMULATOR_TOKEN_LIFE_SECONDS: "1e3" },
      "KINDE_EMULATOR_TOKEN_LIFE_SECONDS must be a whole number",
    ],
    [{ KINDE_EMULATOR_REFRESH_OVERLAP_SECONDS: "-1" }, "KINDE_EMULATOR_REFRESH_OVERLAP_SECONDS must be"],
    [{ KINDE_EMULATOR_REFRESH: "maybe" }, "KINDE_EMULATOR_REFRESH must be same or new."],
    [{ KINDE_EMULATOR_STRICT: "very" }, "KINDE_EMULATOR_STRICT must be on or off."],
    [{ KINDE_EMULATOR_WEBHOOK_URL: "" }, "KINDE_EMULATOR_WEBHOOK_URL must be an http URL on loopback"],
    [
      { KINDE_EMULATOR_WEBHOOK_URL: "https://127.0.0.1:3000/hook" },
      "KINDE_EMULATOR_WEBHOOK_URL must be an http URL on loopback",
    ],
    [
      { KINDE_EMULATOR_WEBHOOK_URL: "http://hooks.example/xxxx" },
      "KINDE_EMULATOR_WEBHOOK_URL must be an http URL on loopback",
    ],
    [
      { KINDE_EMULATOR_WEBHOOK_URL: "http://127.0.0.1.example/hook" },
      "KINDE_EMULATOR_WEBHOOK_URL must be an http URL on loopback",
    ],
    [
      { KINDE_EMULATOR_WEBHOOK_URL: "http://xxxx@127.0.0.1/hook" },
      "KINDE_EMULATOR_WEBHOOK_URL must be an http URL on loopback",
    ],
    [{ KINDE_EMULATOR_WEBHOOK_TIME_SCALE: "0" }, "KINDE_EMULATOR_WEBHOOK_TIME_SCALE must be a number from"],
    [{ KINDE_EMULATOR_WEBHOOK_TIME_SCALE: "2" }, "KINDE_EMULATOR_WEBHOOK_TIME_SCALE must be a number from"],
    [
      { KINDE_EMULATOR_WEBHOOK_TIME_SCALE: "1e-3" },
      "KINDE_EMULATOR_WEBHOOK_TIME_SCALE must be a number from",
    ],
    [
      { KINDE_EMULATOR_WEBHOOK_TIMEOUT_SECONDS: "0" },
      "KINDE_EMULATOR_WEBHOOK_TIMEOUT_SECONDS must be a whole number",
    ],
    [{ KINDE_EMULATOR_WEBHOOK_ISS: "mine" }, "KINDE_EMULATOR_WEBHOOK_ISS must be none or tenant."],
    [{ KINDE_M2M_CLIENT_ID: "app_client" }, "KINDE_M2M_CLIENT_ID must differ from KINDE_CLIENT_ID."],
  ])("%j: one line that names the variable and not its value", (change, line) => {
    const read = () => readConfig({ ...EMULATOR_ENV, ...change });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(line);
    expect(read).not.toThrow(/x!x!|xxxx|\n/);
  });
});
