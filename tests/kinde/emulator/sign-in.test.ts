import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { authUrl, CALLBACK, claimsOf, exchange, post, send, signIn, signInForCode } from "./calls.ts";
import { openEmulator, SITE, type TestEmulator } from "./emulator-server.ts";

let emulator: TestEmulator;
beforeEach(async () => {
  emulator = await openEmulator();
});
afterEach(async () => {
  await emulator.close();
});

const NEW_USER = { new: "1", given_name: "Ada", family_name: "Lovelace", email: "ada@example.com" };

describe("discovery", () => {
  test("names the issuer exactly and points at keys that verify the tokens", async () => {
    const { json } = await send(`${emulator.url}/.well-known/openid-configuration`);
    expect(json.issuer).toBe(emulator.url);
    const tokens = await signIn(emulator.url);
    const options = { issuer: emulator.url, audience: "convex", currentDate: new Date(emulator.nowMs()) };
    const keys = createRemoteJWKSet(new URL(json.jwks_uri));
    const { protectedHeader } = await jwtVerify(tokens.access_token, keys, options);
    expect(protectedHeader).toMatchObject({ alg: "RS256", typ: "JWT" });
  });

  test("both key paths serve the same keys, marked for signatures and never cached", async () => {
    const [a, b] = [
      await send(`${emulator.url}/.well-known/jwks`),
      await send(`${emulator.url}/.well-known/jwks.json`),
    ];
    expect(a.json).toEqual(b.json);
    expect(a.json.keys[0]).toMatchObject({ kty: "RSA", use: "sig", alg: "RS256" });
    expect(a.json.keys[0].d).toBeUndefined();
    expect(a.headers.get("cache-control")).toBe("no-store");
  });
});

describe("signing in", () => {
  test("a new user gets a code, tokens and the free plan", async () => {
    const reply = await post(authUrl(emulator.url), NEW_USER, { origin: emulator.url });
    expect(reply.status).toBe(302);
    const location = new URL(reply.headers.get("location")!);
    expect(location.origin + location.pathname).toBe(CALLBACK);
    expect(location.searchParams.get("state")).toBe("state-1");
    const tokens = (await exchange(emulator.url, location.searchParams.get("code")!)).json;
    expect(tokens).toMatchObject({
      token_type: "Bearer",
      expires_in: 86_400,
      scope: "openid profile email offline",
    });
    const access = claimsOf(tokens.access_token);
    expect(access).toMatchObject({
      iss: emulator.url,
      aud: ["convex"],
      azp: "app_client",
      org_code: expect.stringMatching(/^org_/),
      permissions: [],
      roles: [],
      feature_flags: {},
      scp: ["openid", "profile", "email", "offline"],
    });
    expect(access.sub).toMatch(/^kp_[0-9a-f]{32}$/);
    expect(access.exp! - access.iat!).toBe(86_400);
    expect(claimsOf(tokens.id_token)).toMatchObject({
      iss: emulator.url,
      sub: access.sub,
      email: "ada@example.com",
      given_name: "Ada",
      family_name: "Lovelace",
      name: "Ada Lovelace",
    });
    const keys = createLocalJWKSet((await send(`${emulator.url}/.well-known/jwks.json`)).json);
    await jwtVerify(tokens.id_token, keys, { currentDate: new Date(emulator.nowMs()) });
  });

  test("an operator carries the permission and the role", async () => {
    const { access_token } = await signIn(emulator.url, { ...NEW_USER, operator: "1" });
    expect(claimsOf(access_token)).toMatchObject({
      permissions: ["operate:holdfast"],
      roles: [{ key: "operator" }],
    });
  });

  test("an existing user is picked from the page and keeps their id", async () => {
    const first = claimsOf((await signIn(emulator.url)).access_token).sub!;
    const page = await send(authUrl(emulator.url));
    expect(page.text).toContain(`value="${first}"`);
    const again = await signIn(emulator.url, { user: first });
    expect(claimsOf(again.access_token).sub).toBe(first);
  });

  test("names with any letters come back as they were given", async () => {
    const names = { given_name: "Zoë 王", family_name: "O'Néill <b>" };
    const { id_token } = await signIn(emulator.url, { ...NEW_USER, ...names });
    expect(claimsOf(id_token)).toMatchObject(names);
  });

  test("without the scope offline there is no refresh token", async () => {
    const tokens = await signIn(emulator.url, NEW_USER, { scope: "openid email" });
    expect(tokens.refresh_token).toBeUndefined();
    expect(claimsOf(tokens.id_token)["given_name"]).toBeUndefined();
  });

  test("plan_interest names the plan of a new user", async () => {
    const code = await signInForCode(emulator.url, NEW_USER, { plan_interest: "customer_pro_plan" });
    const { access_token } = (await exchange(emulator.url, code)).json;
    const { json } = await send(`${emulator.url}/account_api/v1/entitlements`, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    expect(json.data.plans[0].key).toBe("customer_pro_plan");
  });
});

describe("the sign-in page", () => {
  test("start_page=registration shows the form first", async () => {
    await signIn(emulator.url);
    const form = "New test user";
    const picker = "Continue as";
    const signInPage = (await send(authUrl(emulator.url))).text;
    expect(signInPage.indexOf(picker)).toBeLessThan(signInPage.indexOf(form));
    const signUpPage = (await send(authUrl(emulator.url, { start_page: "registration" }))).text;
    expect(signUpPage.indexOf(form)).toBeLessThan(signUpPage.indexOf(picker));
  });

  test("escapes names, emails, and everything in the address", async () => {
    const attack = `"><script>alert(1)</script>`;
    await signIn(emulator.url, { ...NEW_USER, given_name: attack, family_name: "'onclick='x" });
    const page = await send(authUrl(emulator.url, { state: attack, login_hint: attack }));
    expect(page.text).not.toContain("<script");
    expect(page.text).not.toContain("'onclick");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    const refused = await post(authUrl(emulator.url), { ...NEW_USER, email: attack });
    expect(refused.status).toBe(400);
    expect(refused.text).not.toContain("<script");
  });

  test.each([
    ["no given name", { given_name: " " }, "Given name is missing."],
    ["no email address", { email: "nobody" }, "Email is not an email address."],
  ])("%s: the form again, with the reason and what was typed", async (_, change, reason) => {
    const reply = await post(authUrl(emulator.url), { ...NEW_USER, ...change });
    expect(reply.status).toBe(400);
    expect(reply.text).toContain(reason);
    expect(reply.text).toContain("Lovelace");
  });

  test("an email has one user, in any case of letters", async () => {
    await signIn(emulator.url);
    const reply = await post(authUrl(emulator.url), { ...NEW_USER, email: "ADA@example.com" });
    expect(reply.status).toBe(400);
    expect(reply.text).toContain("exists already");
  });

  test("a form sent by a page of another site makes no user", async () => {
    const reply = await post(authUrl(emulator.url), NEW_USER, { origin: "http://evil.example" });
    expect(reply.status).toBe(403);
    expect((await send(authUrl(emulator.url))).text).not.toContain("ada@example.com");
  });
});

describe("a sign-in link that is wrong", () => {
  test.each([
    ["redirect_uri of another host", { redirect_uri: "http://evil.example/api/auth/kinde_callback" }],
    ["redirect_uri of another port", { redirect_uri: "http://localhost:3001/api/auth/kinde_callback" }],
    ["redirect_uri with the site as user name", { redirect_uri: "http://localhost:3000@evil.example/" }],
    ["redirect_uri that only starts like the site", { redirect_uri: `${SITE}.evil.example/` }],
    ["redirect_uri with a fragment", { redirect_uri: `${CALLBACK}#x` }],
    ["redirect_uri that is a script", { redirect_uri: "javascript:alert(1)" }],
    ["no redirect_uri", { redirect_uri: undefined }],
    ["another client", { client_id: "someone" }],
    ["another response type", { response_type: "token" }],
    ["an unknown audience", { audience: ["convex", "https://elsewhere.example"] }],
    ["plain PKCE", { code_challenge: "x", code_challenge_method: "plain" }],
  ])("%s: an error page, no redirect, on GET and POST", async (_, change) => {
    for (const reply of [
      await send(authUrl(emulator.url, change)),
      await post(authUrl(emulator.url, change), NEW_USER),
    ]) {
      expect(reply.status).toBe(400);
      expect(reply.headers.get("content-type")).toContain("text/html");
      expect(reply.headers.get("location")).toBeNull();
    }
  });

  test("outside strict mode an unknown audience is let through", async () => {
    const lenient = await openEmulator({ env: { KINDE_EMULATOR_STRICT: "off" } });
    const { access_token } = await signIn(lenient.url, NEW_USER, { audience: "https://elsewhere.example" });
    expect(claimsOf(access_token).aud).toEqual(["https://elsewhere.example"]);
    await lenient.close();
  });
});

describe("signing out", () => {
  test("goes back to the site", async () => {
    const reply = await send(`${emulator.url}/logout?redirect=${encodeURIComponent(SITE)}`);
    expect([reply.status, reply.headers.get("location")]).toEqual([302, `${SITE}/`]);
  });

  test("without a way back it says so, and never leads elsewhere", async () => {
    expect((await send(`${emulator.url}/logout?redirect=`)).text).toContain("Signed out");
    const elsewhere = await send(`${emulator.url}/logout?redirect=http://evil.example`);
    expect([elsewhere.status, elsewhere.headers.get("location")]).toEqual([400, null]);
  });
});
