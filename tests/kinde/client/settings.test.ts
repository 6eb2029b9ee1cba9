import { expect, test } from "vitest";
import { KindeSettingsError, checkSettings } from "../../../lib/kinde/settings.ts";

const settings = { issuerUrl: "https://example.kinde.com", clientId: "id", clientSecret: "CanarySecret" };

test("the audience is the API of the issuer unless one is set", () => {
  expect(checkSettings(settings).audience).toBe("https://example.kinde.com/api");
  expect(checkSettings({ ...settings, audience: "https://other.kinde.com/api" }).audience).toBe(
    "https://other.kinde.com/api",
  );
});

test.each([
  "http://127.0.0.1:3220",
  "http://localhost:3220",
  "http://[::1]:3220",
  "https://auth.example.com:8443",
])("%s is an issuer", (issuerUrl) => {
  expect(checkSettings({ ...settings, issuerUrl }).issuerUrl).toBe(issuerUrl);
});

test.each<[name: string, fields: Partial<typeof settings>, message: string]>([
  ["a trailing slash", { issuerUrl: "https://example.kinde.com/" }, "must be an origin"],
  ["a path", { issuerUrl: "https://example.kinde.com/api" }, "must be an origin"],
  ["a user in the URL", { issuerUrl: "https://canary:CanarySecret@example.kinde.com" }, "must be an origin"],
  ["no scheme", { issuerUrl: "example.kinde.com" }, "must be an http or https URL"],
  ["another scheme", { issuerUrl: "ftp://example.kinde.com" }, "must be an http or https URL"],
  ["nothing", { issuerUrl: "" }, "must be an http or https URL"],
  ["plain http to a host", { issuerUrl: "http://example.kinde.com" }, "plain http on loopback only"],
  ["plain http to a host that looks local", { issuerUrl: "http://127.0.0.1.example.com" }, "loopback only"],
  ["no client id", { clientId: "" }, "client id is empty"],
  ["no secret", { clientSecret: "" }, "client secret is empty"],
])("%s is refused by name and without the value", (_name, fields, message) => {
  const check = () => checkSettings({ ...settings, ...fields });
  expect(check).toThrow(KindeSettingsError);
  expect(check).toThrow(message);
  expect(check).not.toThrow(/canary/i);
});
