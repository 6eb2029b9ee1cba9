import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { AuthProvider } from "../../lib/local-convex/auth-config.ts";
import { Authenticator } from "../../lib/local-convex/auth.ts";
import { makeKey, startTestIssuer, type TestIssuer } from "../helpers/test-issuer.ts";

type Key = Awaited<ReturnType<typeof makeKey>>;

let rsa: Key;
let otherRsa: Key;
let issuer: TestIssuer;
let authenticator: Authenticator;
/** What both clocks of the authenticator are ahead of the real ones. */
let aheadMs: number;

beforeAll(async () => {
  rsa = await makeKey("first");
  otherRsa = await makeKey("second");
});

beforeEach(async () => {
  aheadMs = 0;
  issuer = await startTestIssuer(rsa);
  authenticator = new Authenticator({
    nowMs: () => Date.now() + aheadMs,
    elapsedMs: () => performance.now() + aheadMs,
  });
  authenticator.use([oidc()]);
});

afterEach(() => issuer.close());

const oidc = (fields: Partial<AuthProvider> = {}): AuthProvider =>
  ({ kind: "oidc", issuer: issuer.url, applicationId: "convex", ...fields }) as AuthProvider;

const custom = (fields: Partial<AuthProvider> = {}): AuthProvider =>
  ({
    kind: "customJwt",
    issuer: issuer.url,
    jwks: issuer.jwksUrl,
    algorithm: "RS256",
    applicationId: null,
    ...fields,
  }) as AuthProvider;

const identityOf = async (token: string) => {
  const check = await authenticator.verifyToken(token);
  if (check.kind !== "ok") throw new Error(check.message);
  return check.identity;
};
const refusalOf = async (token: string) => {
  const check = await authenticator.verifyToken(token);
  return check.kind === "refused" ? check.message : "accepted";
};
const seconds = (fromNow: number) => Math.floor(Date.now() / 1_000) + fromNow;

describe("an OpenID Connect token", () => {
  test("names its subject, and when it ends", async () => {
    const exp = seconds(600);
    expect(await authenticator.verifyToken(await issuer.sign({ exp }))).toEqual({
      kind: "ok",
      identity: { tokenIdentifier: `${issuer.url}|kp_1`, issuer: issuer.url, subject: "kp_1" },
      expiresAtMs: exp * 1_000,
    });
    expect(issuer.asked).toEqual(["/.well-known/openid-configuration", "/.well-known/jwks.json"]);
  });

  test("gives standard claims their Convex names and keeps all others", async () => {
    const token = await issuer.sign({
      name: "Zoë",
      given_name: "Z",
      family_name: "B",
      nickname: "n",
      preferred_username: "zoe",
      profile: "p",
      picture: "i",
      website: "w",
      email: "z@x.org",
      email_verified: true,
      gender: "f",
      birthdate: "2000-01-02",
      zoneinfo: "Europe/Vienna",
      locale: "de",
      phone_number: "+43",
      phone_number_verified: false,
      address: { formatted: "Here 1", country: "AT" },
      updated_at: 1_760_000_000,
      org_code: "org_1",
      permissions: ["a:b"],
      flags: { deep: { t: "b", v: true } },
      nothing: null,
      azp: "x",
      jti: "j",
      nonce: "n",
      at_hash: "h",
      auth_time: 1,
      nbf: 1,
      fva: [1, 2],
    });
    expect(await identityOf(token)).toEqual({
      name: "Zoë",
      givenName: "Z",
      familyName: "B",
      nickname: "n",
      preferredUsername: "zoe",
      profileUrl: "p",
      pictureUrl: "i",
      websiteUrl: "w",
      email: "z@x.org",
      emailVerified: true,
      gender: "f",
      birthday: "2000-01-02",
      timezone: "Europe/Vienna",
      language: "de",
      phoneNumber: "+43",
      phoneNumberVerified: false,
      address: "Here 1",
      updatedAt: "2025-10-09T08:53:20+00:00",
      org_code: "org_1",
      permissions: ["a:b"],
      flags: { deep: { t: "b", v: true } },
      nothing: null,
      tokenIdentifier: `${issuer.url}|kp_1`,
      issuer: issuer.url,
      subject: "kp_1",
    });
  });

  test("cannot pass for another by claims that look like the identity's fields", async () => {
    const token = await issuer.sign({ subject: "kp_2", issuer: "x", tokenIdentifier: "x|kp_2", email: 5 });
    expect(await identityOf(token)).toEqual({
      tokenIdentifier: `${issuer.url}|kp_1`,
      issuer: issuer.url,
      subject: "kp_1",
    });
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ["for another audience", { aud: "other" }, /^No auth provider found matching the given token/],
    ["without an audience", { aud: undefined }, /^No auth provider found/],
    ["of another issuer", { iss: "https://evil.example" }, /^No auth provider found/],
    ["without an issuer", { iss: undefined }, /^No auth provider found/],
    ["for two audiences", { aud: ["convex", "other"] }, /^Could not verify OIDC token claim\. .*audience/],
    ["that has expired", { exp: seconds(-1) }, /^Could not verify OIDC token claim\. The token has expired/],
    ["without an end", { exp: undefined }, /^Could not verify OIDC token claim\. .*"exp"/],
    ["without a time of issue", { iat: undefined }, /^Could not verify OIDC token claim\. .*"iat"/],
    ["without a subject", { sub: undefined }, /^Could not verify OIDC token claim\. .*"sub"/],
    ["that is not valid yet", { nbf: seconds(60) }, /^Could not verify OIDC token claim\. .*"nbf"/],
    ["whose end is no number", { exp: "soon" }, /^Could not verify OIDC token claim\. .*"exp"/],
    ["whose subject is no text", { sub: 5 }, /^Could not verify OIDC token claim\. .*(subject|"sub")/],
  ])("%s is refused", async (_name, claims, message) => {
    expect(await refusalOf(await issuer.sign(claims))).toMatch(message);
  });

  test("may name one audience as a text", async () => {
    expect(await identityOf(await issuer.sign({ aud: "convex" }))).toHaveProperty("subject", "kp_1");
  });

  test("ends without leeway, by the wall clock", async () => {
    const token = await issuer.sign({ exp: seconds(100) });
    aheadMs = 98_000;
    expect(await refusalOf(token)).toBe("accepted");
    aheadMs = 100_000;
    expect(await refusalOf(token)).toMatch(/expired/);
  });

  test.each<[string, Record<string, unknown>, string]>([
    [
      "at+jwt is refused",
      { typ: "at+jwt" },
      "Could not verify OIDC token claim. The token's type is not JWT.",
    ],
    ["jwt in small letters is accepted", { typ: "jwt" }, "accepted"],
    ["application/jwt is accepted", { typ: "application/JWT" }, "accepted"],
    ["no type is accepted", { typ: undefined }, "accepted"],
    [
      "a content type is refused",
      { cty: "JWT" },
      "Could not verify OIDC token claim. The token has a content type.",
    ],
    ["no key id is accepted while one key fits", { kid: undefined }, "accepted"],
  ])("header: %s", async (_name, header, outcome) => {
    expect(await refusalOf(await issuer.sign({}, { header }))).toBe(outcome);
  });

  test("may be signed with EdDSA, not with ES256 or a shared secret", async () => {
    issuer.keys = [await makeKey("ed", "EdDSA"), await makeKey("ec", "ES256")];
    expect(await refusalOf(await issuer.sign())).toBe("accepted");
    expect(await refusalOf(await issuer.sign({}, { key: issuer.keys[1]! }))).toMatch(/"alg"/);
    const [, claims] = (await issuer.sign()).split(".");
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${claims}.`;
    expect(await refusalOf(none)).toMatch(/^Could not verify OIDC token claim/);
  });

  test("with another signature is refused", async () => {
    const token = await issuer.sign({}, { key: { ...otherRsa, kid: "first" } });
    expect(await refusalOf(token)).toBe(
      "Could not verify OIDC token claim. The token's signature is not valid.",
    );
    const [header, , signature] = (await issuer.sign()).split(".");
    const [, forged] = (await issuer.sign({ sub: "kp_admin" })).split(".");
    expect(await refusalOf([header, forged, signature].join("."))).toMatch(/signature is not valid/);
  });

  test.each(["", "x", "a.b.c", "..", "e30.e30.e30", "🙂", "x".repeat(100_000)])(
    "that is no token (%#) is refused",
    async (token) => {
      expect(await refusalOf(token)).toMatch(/^(Could not parse as id token|No auth provider found)/);
      expect(issuer.asked).toEqual([]);
    },
  );
});

describe("which provider", () => {
  test("none configured: every token is refused", async () => {
    authenticator.use([]);
    expect(await refusalOf(await issuer.sign())).toBe(
      "No auth provider found matching the given token (no providers configured). Check convex/auth.config.ts.",
    );
  });

  test("the first whose issuer and audience fit, and the refusal lists them", async () => {
    authenticator.use([
      oidc({ applicationId: "other" }),
      custom({ issuer: "https://else.where" }),
      custom(),
      oidc(),
    ]);
    // The custom one asks for no audience, so it comes before the last.
    expect(await identityOf(await issuer.sign({ given_name: "Z" }))).toHaveProperty("given_name", "Z");
    expect(await refusalOf(await issuer.sign({ iss: "nobody" }))).toContain(
      `[OIDC(domain=${issuer.url}, app_id=other), CustomJWT(issuer=https://else.where, app_id=none), `,
    );
  });

  test("a slash at the end of the domain does not matter, the identity has the token's own", async () => {
    authenticator.use([oidc({ issuer: `${issuer.url}/` })]);
    expect(await identityOf(await issuer.sign())).toHaveProperty("tokenIdentifier", `${issuer.url}|kp_1`);
    const withSlash = await issuer.sign({ iss: `${issuer.url}/` });
    expect(await refusalOf(withSlash)).toMatch(/calls itself/);
    authenticator.use([oidc()]);
    issuer.discovery = () => ({ issuer: `${issuer.url}/`, jwks_uri: issuer.jwksUrl });
    expect(await identityOf(withSlash)).toHaveProperty("tokenIdentifier", `${issuer.url}/|kp_1`);
  });

  test("a discovery document of another issuer is not believed", async () => {
    issuer.discovery = () => ({ issuer: "https://evil.example", jwks_uri: issuer.jwksUrl });
    expect(await refusalOf(await issuer.sign())).toMatch(/calls itself https:\/\/evil.example/);
  });
});

describe("a custom JWT", () => {
  beforeEach(() => authenticator.use([custom()]));

  test("keeps its claims under their own names, nested ones with dots", async () => {
    const token = await issuer.sign({
      aud: undefined,
      email: "z@x.org",
      given_name: "Z",
      org: { id: 1, of: { a: [1] } },
      fva: 1,
    });
    expect(await identityOf(token)).toEqual({
      email: "z@x.org",
      given_name: "Z",
      "org.id": 1,
      "org.of.a": [1],
      tokenIdentifier: `${issuer.url}|kp_1`,
      issuer: issuer.url,
      subject: "kp_1",
    });
  });

  test("has a leeway of five seconds", async () => {
    const token = await issuer.sign({ exp: seconds(100) });
    aheadMs = 103_000;
    expect(await refusalOf(token)).toBe("accepted");
    aheadMs = 106_000;
    expect(await refusalOf(token)).toBe("Could not verify token claim. The token has expired.");
  });

  test("must name its key and use the algorithm of the provider", async () => {
    expect(await refusalOf(await issuer.sign({}, { header: { kid: undefined } }))).toMatch(/kid/);
    issuer.keys = [rsa, await makeKey("ec", "ES256")];
    const token = await issuer.sign({}, { key: issuer.keys[1]! });
    expect(await refusalOf(token)).toMatch(/"alg"/);
    authenticator.use([custom({ algorithm: "ES256" })]);
    expect(await refusalOf(token)).toBe("accepted");
  });

  test("may have several audiences when one of them is the provider's", async () => {
    authenticator.use([custom({ applicationId: "convex" })]);
    expect(await refusalOf(await issuer.sign({ aud: ["other", "convex"] }))).toBe("accepted");
    expect(await refusalOf(await issuer.sign({ aud: ["other"] }))).toMatch(/^No auth provider found/);
  });

  test.each([
    ["application/jwk-set+json", "accepted"],
    ["application/json", "accepted"],
    ["text/plain", /content type text\/plain/],
    [null, /content type \(none\)/],
  ])("keys sent as %s", async (type, outcome) => {
    issuer.jwksType = type;
    expect(await refusalOf(await issuer.sign())).toMatch(outcome);
  });

  test("its keys may be in a data: URI, and then nobody is asked", async () => {
    const text = JSON.stringify({ keys: [rsa.publicJwk] });
    for (const jwks of [
      `data:text/plain;charset=utf-8;base64,${Buffer.from(text).toString("base64")}`,
      `data:application/json,${encodeURIComponent(text)}`,
    ]) {
      authenticator.use([custom({ jwks, issuer: "no.scheme" })]);
      expect(await identityOf(await issuer.sign({ iss: "https://no.scheme" }))).toHaveProperty("subject");
      expect(await identityOf(await issuer.sign({ iss: "no.scheme" }))).toHaveProperty(
        "tokenIdentifier",
        "no.scheme|kp_1",
      );
    }
    expect(issuer.asked).toEqual([]);
  });
});

describe("the keys of an issuer", () => {
  const fetches = () => issuer.asked.filter((path) => path.includes("jwks")).length;

  test("are fetched once for many tokens, also when they come together", async () => {
    const tokens = await Promise.all([1, 2, 3, 4, 5].map((n) => issuer.sign({ sub: `kp_${n}` })));
    const outcomes = await Promise.all(tokens.map(refusalOf));
    expect(outcomes).toEqual(Array<string>(5).fill("accepted"));
    expect(await refusalOf(tokens[0]!)).toBe("accepted");
    expect(fetches()).toBe(1);
  });

  test("are fetched again for an unknown key id, at most once in ten seconds", async () => {
    const old = await issuer.sign();
    expect(await refusalOf(old)).toBe("accepted");
    issuer.keys = [otherRsa, rsa];
    const rotated = await issuer.sign();
    expect(await refusalOf(rotated)).toMatch(/no key that fits/);
    aheadMs += 11_000;
    expect(await refusalOf(rotated)).toBe("accepted");
    expect(fetches()).toBe(2);
    for (const kid of ["made", "up", "names"]) {
      expect(await refusalOf(await issuer.sign({}, { header: { kid } }))).toMatch(/no key that fits/);
    }
    expect(fetches()).toBe(2);
    expect(await refusalOf(old)).toBe("accepted");
  });

  test.each<[string, string | null, number]>([
    ["for five minutes when nothing is said", null, 5 * 60_000],
    ["as long as max-age says", "public, max-age=90", 90_000],
    ["for an hour at most", "max-age=999999999", 60 * 60_000],
    ["for ten seconds at least", "max-age=0", 10_000],
    ["for ten seconds when they may not be stored", "no-store", 10_000],
  ])("are kept %s", async (_name, cacheControl, freshMs) => {
    issuer.cacheControl = cacheControl;
    const token = await issuer.sign({ exp: seconds(100_000) });
    expect(await refusalOf(token)).toBe("accepted");
    aheadMs = freshMs - 2_000;
    expect(await refusalOf(token)).toBe("accepted");
    expect(fetches()).toBe(1);
    aheadMs = freshMs + 1;
    expect(await refusalOf(token)).toBe("accepted");
    expect(fetches()).toBe(2);
  });

  test("that the issuer took back are refused once they are stale", async () => {
    issuer.cacheControl = "no-store";
    const token = await issuer.sign();
    expect(await refusalOf(token)).toBe("accepted");
    issuer.keys = [otherRsa];
    aheadMs = 10_001;
    expect(await refusalOf(token)).toMatch(/no key that fits/);
  });

  test("stay in use while the issuer is down", async () => {
    issuer.cacheControl = "no-store";
    const token = await issuer.sign();
    expect(await refusalOf(token)).toBe("accepted");
    issuer.isDown = true;
    for (let round = 0; round < 3; round++) {
      aheadMs += 60_000;
      expect(await refusalOf(token)).toBe("accepted");
    }
    await issuer.close();
    aheadMs += 60_000;
    expect(await refusalOf(token)).toBe("accepted");
  });

  test("stay in use while the issuer takes questions and never answers", async () => {
    issuer.cacheControl = "no-store";
    const token = await issuer.sign();
    expect(await refusalOf(token)).toBe("accepted");
    issuer.isSilent = true;
    aheadMs += 60_000;
    expect(await refusalOf(token)).toBe("accepted");
  });

  test("that cannot be had are a refusal with the reason, asked for again a second later", async () => {
    issuer.isDown = true;
    const token = await issuer.sign();
    const message = `Auth provider discovery of ${issuer.url} failed. ${issuer.url}/.well-known/openid-configuration answered 503.`;
    expect(await refusalOf(token)).toBe(message);
    expect(await refusalOf(token)).toBe(message);
    expect(issuer.asked).toHaveLength(1);
    issuer.isDown = false;
    aheadMs = 1_000;
    expect(await refusalOf(token)).toBe("accepted");
  });

  test.each<[string, () => void, RegExp]>([
    [
      "a discovery document without keys",
      () => (issuer.discovery = () => ({ issuer: issuer.url })),
      /lacks `issuer` or `jwks_uri`/,
    ],
    [
      "a discovery document that is null",
      () => (issuer.discovery = () => null),
      /lacks `issuer` or `jwks_uri`/,
    ],
    [
      "a file as key address",
      () => (issuer.discovery = () => ({ issuer: issuer.url, jwks_uri: "file:///etc/passwd" })),
      /lacks `issuer` or `jwks_uri`/,
    ],
    [
      "a key address that does not exist",
      () => (issuer.discovery = () => ({ issuer: issuer.url, jwks_uri: `${issuer.url}/x` })),
      /answered 404/,
    ],
    ["a key set of the wrong content type", () => (issuer.jwksType = "text/html"), /content type text\/html/],
    ["no key set", () => (issuer.keys = [{ ...rsa, publicJwk: null as never }]), /is not a set of keys/],
  ])("%s is a refusal", async (_name, bend, message) => {
    bend();
    expect(await refusalOf(await issuer.sign({}, { key: rsa }))).toMatch(message);
  });

  test("are kept when auth.config is read again unchanged", async () => {
    expect(await refusalOf(await issuer.sign())).toBe("accepted");
    authenticator.use([oidc()]);
    expect(await refusalOf(await issuer.sign())).toBe("accepted");
    expect(fetches()).toBe(1);
  });
});
