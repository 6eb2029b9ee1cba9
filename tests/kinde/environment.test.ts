import { describe, expect, test } from "vitest";

import { postLoginAllowedRegex, readKindeEnvironment, webFaults } from "../../lib/kinde/environment.ts";

const GOOD = {
  KINDE_ISSUER_URL: "https://acme.kinde.com",
  KINDE_CLIENT_ID: "client",
  KINDE_CLIENT_SECRET: "s".repeat(48),
  KINDE_SITE_URL: "https://app.example",
  KINDE_AUDIENCE: "convex",
  KINDE_M2M_CLIENT_ID: "machine",
  KINDE_M2M_CLIENT_SECRET: "machine secret",
};

function faultsOf(change: Record<string, string | undefined>): string[] {
  const answer = readKindeEnvironment({ ...GOOD, ...change });
  return answer.kind === "ok" ? [] : answer.faults.map(({ message }) => message);
}

describe("readKindeEnvironment", () => {
  test("takes a complete set, and plain http on this machine", () => {
    expect(readKindeEnvironment(GOOD)).toMatchObject({
      kind: "ok",
      settings: { issuerUrl: "https://acme.kinde.com", audience: "convex" },
    });
    const local = { KINDE_ISSUER_URL: "http://127.0.0.1:3220", KINDE_SITE_URL: "http://localhost:3000" };
    expect(faultsOf(local)).toEqual([]);
  });

  test.each(Object.keys(GOOD))("says that %s is not set", (variable) => {
    expect(faultsOf({ [variable]: undefined })).toEqual([`${variable} is not set`]);
    expect(faultsOf({ [variable]: "" })).toEqual([`${variable} is not set`]);
  });

  test("says everything that is wrong at once", () => {
    expect(faultsOf({ KINDE_CLIENT_ID: "", KINDE_AUDIENCE: "api" })).toHaveLength(2);
  });

  test.each([
    ["KINDE_ISSUER_URL", "https://acme.kinde.com/", "ends with a slash"],
    ["KINDE_ISSUER_URL", "acme.kinde.com", "is not a URL"],
    ["KINDE_ISSUER_URL", "ftp://acme.kinde.com", "is not a URL"],
    ["KINDE_ISSUER_URL", "https://acme.kinde.com/oauth2", "without a path"],
    ["KINDE_ISSUER_URL", "https://ACME.kinde.com", "in lower case"],
    ["KINDE_ISSUER_URL", "http://acme.kinde.com", "https:// outside this machine"],
    ["KINDE_SITE_URL", "http://localhost:3000/", "ends with a slash"],
    ["KINDE_AUDIENCE", "convex other", `must be "convex"`],
  ])("refuses %s=%s: %s", (variable, value, message) => {
    expect(faultsOf({ [variable]: value })).toEqual([
      expect.stringMatching(new RegExp(`^${variable} .*${message}`)),
    ]);
  });

  test.each(["short", "s".repeat(39), "s".repeat(61), `${"s".repeat(47)}-`, `"${"s".repeat(46)}"`])(
    "refuses the client secret %s, and does not repeat it",
    (secret) => {
      const [message] = faultsOf({ KINDE_CLIENT_SECRET: secret });
      expect(message).toMatch(/^KINDE_CLIENT_SECRET must be 40 to 60 letters and digits/);
      expect(message).not.toContain(secret);
    },
  );
});

describe("webFaults", () => {
  const good = { ...GOOD, KINDE_POST_LOGIN_ALLOWED_URL_REGEX: postLoginAllowedRegex(GOOD.KINDE_SITE_URL) };

  test("asks for what the web server reads, and not for the machine application", () => {
    const { KINDE_M2M_CLIENT_ID: _id, KINDE_M2M_CLIENT_SECRET: _secret, ...web } = good;
    expect(webFaults(web)).toEqual([]);
  });

  test.each([
    ["", "is not set"],
    [".*", "lets any site through"],
    ["^/", "lets any site through"],
    ["^(?:https://hold.example)?/(?![/\\\\])", "lets any site through"],
    ["(", "is not a regular expression"],
  ])("refuses the pattern %j of allowed redirects: %s", (pattern, message) => {
    expect(webFaults({ ...good, KINDE_POST_LOGIN_ALLOWED_URL_REGEX: pattern })).toEqual([
      {
        variable: "KINDE_POST_LOGIN_ALLOWED_URL_REGEX",
        message: `KINDE_POST_LOGIN_ALLOWED_URL_REGEX ${message}`,
      },
    ]);
  });
});

describe("postLoginAllowedRegex", () => {
  const allowed = new RegExp(postLoginAllowedRegex("http://localhost:3000"));

  test.each(["/app", "/ops?x=1", "http://localhost:3000/", "http://localhost:3000/app/plan/return"])(
    "lets %s through",
    (target) => expect(allowed.test(target)).toBe(true),
  );

  test.each([
    "//evil.example",
    "/\\evil.example",
    "https://evil.example/",
    "http://localhost:3000.evil.example/",
    "http://localhost:3000@evil.example/",
    "javascript:alert(1)",
    "http://localhostx3000/",
    // A URL parser takes these characters out, and what is left begins with two slashes.
    "/\t/evil.example",
    "/\n/evil.example",
    "/\r\\evil.example",
    "/\t\n\r//evil.example",
    "\t//evil.example",
    " //evil.example",
  ])("keeps %s out", (target) => expect(allowed.test(target)).toBe(false));
});
