import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hashOf } from "../../../lib/kinde/emulator/ids.ts";
import {
  bearer,
  CALLBACK,
  claimsOf,
  control,
  exchange,
  machine,
  machineToken,
  post,
  refresh,
  signIn,
  signInForCode,
} from "./calls.ts";
import { EMULATOR_ENV, openEmulator, type TestEmulator } from "./emulator-server.ts";

let emulator: TestEmulator;
let url: string;
beforeEach(async () => {
  emulator = await openEmulator();
  url = emulator.url;
});
afterEach(() => emulator.close());

const APP = {
  client_id: EMULATOR_ENV["KINDE_CLIENT_ID"]!,
  client_secret: EMULATOR_ENV["KINDE_CLIENT_SECRET"]!,
};

describe("a code", () => {
  test("works once", async () => {
    const code = await signInForCode(url);
    expect((await exchange(url, code)).status).toBe(200);
    const again = await exchange(url, code);
    expect([again.status, again.json.error]).toEqual([400, "invalid_grant"]);
  });

  test("works once when it is shown four times at the same time", async () => {
    const code = await signInForCode(url);
    const replies = await Promise.all([1, 2, 3, 4].map(() => exchange(url, code)));
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400]);
  });

  test("works for 5 minutes", async () => {
    const early = await signInForCode(url);
    emulator.advance(299_999);
    expect((await exchange(url, early)).status).toBe(200);
    const late = await signInForCode(url, { user: claimsOf((await signIn(url, other)).access_token).sub! });
    emulator.advance(300_000);
    expect((await exchange(url, late)).json.error).toBe("invalid_grant");
  });

  const other = { new: "1", given_name: "B", family_name: "C", email: "b@example.com" };

  test("is bound to its redirect_uri, and survives the attempt", async () => {
    const code = await signInForCode(url);
    const wrong = await exchange(url, code, { redirect_uri: `${CALLBACK}?x=1` });
    expect([wrong.status, wrong.json.error]).toEqual([400, "invalid_grant"]);
    expect((await exchange(url, code)).status).toBe(200);
  });

  test("with PKCE needs its verifier", async () => {
    const challenge = Buffer.from(hashOf("verifier-1"), "hex").toString("base64url");
    const change = { code_challenge: challenge, code_challenge_method: "S256" };
    const code = await signInForCode(url, undefined, change);
    expect((await exchange(url, code)).json.error).toBe("invalid_grant");
    expect((await exchange(url, code, { code_verifier: "verifier-2" })).json.error).toBe("invalid_grant");
    expect((await exchange(url, code, { code_verifier: "verifier-1" })).status).toBe(200);
  });
});

describe("a refresh token", () => {
  test("is replaced, and the answer has all three tokens", async () => {
    const first = await signIn(url);
    const { status, json } = await refresh(url, first.refresh_token);
    expect(status).toBe(200);
    expect(json.refresh_token).toMatch(/^rt_/);
    expect(json.refresh_token).not.toBe(first.refresh_token);
    expect(claimsOf(json.id_token)["email"]).toBe("ada@example.com");
  });

  test("that was replaced works for 30 s more, then no longer", async () => {
    const first = await signIn(url);
    const second = (await refresh(url, first.refresh_token)).json;
    emulator.advance(29_999);
    expect((await refresh(url, first.refresh_token)).status).toBe(200);
    emulator.advance(1);
    const late = await refresh(url, first.refresh_token);
    expect([late.status, late.json.error]).toEqual([400, "invalid_grant"]);
    expect((await refresh(url, second.refresh_token)).status).toBe(200);
  });

  test("shown by four requests at once serves all four, and each result goes on working", async () => {
    const { refresh_token } = await signIn(url);
    const replies = await Promise.all([1, 2, 3, 4].map(() => refresh(url, refresh_token)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const tokens = replies.map(({ json }) => json.refresh_token as string);
    expect(new Set(tokens).size).toBe(4);
    emulator.advance(60_000);
    for (const token of tokens) expect((await refresh(url, token)).status).toBe(200);
  });

  test("works once when the overlap is 0", async () => {
    const strict = await openEmulator({ env: { KINDE_EMULATOR_REFRESH_OVERLAP_SECONDS: "0" } });
    const { refresh_token } = await signIn(strict.url);
    const replies = await Promise.all([1, 2, 3, 4].map(() => refresh(strict.url, refresh_token)));
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400]);
    await strict.close();
  });

  test("ends after 15 days", async () => {
    const { refresh_token } = await signIn(url);
    emulator.advance(15 * 86_400_000);
    expect((await refresh(url, refresh_token)).json.error).toBe("invalid_grant");
  });
});

describe("the access token of a refresh", () => {
  test("is the same while it has 20 s or more, a new one after", async () => {
    const short = await openEmulator({ env: { KINDE_EMULATOR_TOKEN_LIFE_SECONDS: "25" } });
    const first = await signIn(short.url);
    expect(claimsOf(first.access_token).exp! - claimsOf(first.access_token).iat!).toBe(25);
    short.advance(5_000);
    const second = (await refresh(short.url, first.refresh_token)).json;
    expect(second.access_token).toBe(first.access_token);
    expect(second.expires_in).toBe(20);
    expect(claimsOf(second.id_token).exp).toBe(claimsOf(first.id_token).exp! + 5);
    short.advance(1_000);
    const third = (await refresh(short.url, second.refresh_token)).json;
    expect(third.access_token).not.toBe(first.access_token);
    expect(third.expires_in).toBe(25);
    await short.close();
  });

  test("is a new one each time when the emulator is told so", async () => {
    const other = await openEmulator({ env: { KINDE_EMULATOR_REFRESH: "new" } });
    const first = await signIn(other.url);
    const second = (await refresh(other.url, first.refresh_token)).json;
    expect(claimsOf(second.access_token).jti).not.toBe(claimsOf(first.access_token).jti);
    await other.close();
  });
});

describe("the token endpoint refuses", () => {
  test.each([
    ["a wrong secret", { ...APP, client_secret: "c".repeat(40) }, 401, "invalid_client"],
    ["no secret", { client_id: APP.client_id }, 401, "invalid_client"],
    ["an unknown client", { ...APP, client_id: "someone" }, 401, "invalid_client"],
    ["no grant type", APP, 400, "invalid_request"],
    ["an unknown grant type", { ...APP, grant_type: "password" }, 400, "unsupported_grant_type"],
    ["no code", { ...APP, grant_type: "authorization_code" }, 400, "invalid_request"],
    [
      "an unknown code",
      { ...APP, grant_type: "authorization_code", code: "x", redirect_uri: CALLBACK },
      400,
      "invalid_grant",
    ],
    [
      "an unknown refresh token",
      { ...APP, grant_type: "refresh_token", refresh_token: "x" },
      400,
      "invalid_grant",
    ],
    ["the app asking as a machine", { ...APP, grant_type: "client_credentials" }, 400, "unauthorized_client"],
  ])("%s", async (_, fields, status, error) => {
    const reply = await post(`${url}/oauth2/token`, fields);
    expect([reply.status, reply.json.error]).toEqual([status, error]);
    expect(reply.json.error_description).toEqual(expect.any(String));
  });

  test("a client that authenticates in the header, which discovery does not offer", async () => {
    const basic = Buffer.from(`${APP.client_id}:${APP.client_secret}`).toString("base64");
    const fields = { grant_type: "client_credentials", client_id: APP.client_id };
    const reply = await post(`${url}/oauth2/token`, fields, { authorization: `Basic ${basic}` });
    expect([reply.status, reply.json.error]).toEqual([401, "invalid_client"]);
  });

  test("a body that is no form", async () => {
    const reply = await bearer(url, "none")("/oauth2/token", { ...APP, grant_type: "refresh_token" });
    expect([reply.status, reply.json.error]).toEqual([400, "invalid_request"]);
  });
});

describe("a machine token", () => {
  test("carries what Kinde's carry", async () => {
    const { status, json } = await machineToken(url);
    expect(status).toBe(200);
    expect(json).toMatchObject({ expires_in: 86_400, token_type: "Bearer", scope: "" });
    expect(claimsOf(json.access_token)).toMatchObject({
      aud: [`${url}/api`],
      azp: "machine_client",
      gty: ["client_credentials"],
      iss: url,
      scope: "",
      scp: [],
      v: "2",
    });
  });

  test("asked for with some scopes has only those", async () => {
    const { json } = await machineToken(url, { scope: "read:users create:meter_usage" });
    expect(json.scope).toBe("read:users create:meter_usage");
    expect(claimsOf(json.access_token)["scp"]).toEqual(["read:users", "create:meter_usage"]);
  });

  test.each([
    [{ audience: "https://elsewhere.example/api" }, "unauthorized_client"],
    [{ audience: "convex" }, "unauthorized_client"],
    [{ audience: "" }, "invalid_request"],
    [{ scope: "read:everything" }, "invalid_scope"],
  ])("with %j is refused", async (change, error) => {
    const reply = await machineToken(url, change);
    expect([reply.status, reply.json.error]).toEqual([400, error]);
  });

  test("for the audience with the version works too", async () => {
    const { json } = await machineToken(url, { audience: `${url}/api/v1` });
    expect((await bearer(url, json.access_token)("/api/v1/users")).status).toBe(200);
  });

  test("ends", async () => {
    const call = await machine(url);
    emulator.advance(86_399_000);
    expect((await call("/api/v1/users")).status).toBe(200);
    emulator.advance(1_000);
    const reply = await call("/api/v1/users");
    expect([reply.status, reply.json.errors[0].code]).toEqual([401, "TOKEN_INVALID"]);
  });
});

describe("revoking", () => {
  test("a refresh token ends its session, and introspection says so", async () => {
    const tokens = await signIn(url);
    const next = (await refresh(url, tokens.refresh_token)).json;
    const introspect = () => post(`${url}/oauth2/introspect`, { ...APP, token: next.refresh_token });
    expect((await introspect()).json.active).toBe(true);
    const reply = await post(`${url}/oauth2/revoke`, { ...APP, token: tokens.refresh_token });
    expect(reply.status).toBe(200);
    expect((await introspect()).json.active).toBe(false);
    expect((await refresh(url, next.refresh_token)).json.error).toBe("invalid_grant");
  });

  test("an access token ends that token", async () => {
    const { access_token } = await signIn(url);
    const profile = () => bearer(url, access_token)("/oauth2/v2/user_profile");
    expect((await profile()).json).toMatchObject({ email: "ada@example.com", given_name: "Ada" });
    await post(`${url}/oauth2/revoke`, { ...APP, token: access_token, token_type_hint: "access_token" });
    expect((await profile()).status).toBe(401);
  });

  test("an unknown token is no error; an unknown client is one", async () => {
    expect((await post(`${url}/oauth2/revoke`, { ...APP, token: "x" })).status).toBe(200);
    expect((await post(`${url}/oauth2/introspect`, { ...APP, token: "x" })).json).toEqual({ active: false });
    expect((await post(`${url}/oauth2/revoke`, { token: "x" })).json.error).toBe("invalid_client");
  });
});

describe("rotating the signing key", () => {
  test("keeps the old key published, so old tokens still verify", async () => {
    const call = await machine(url);
    const { json } = await control(url)("/control/keys/rotate", {});
    const keys = (await call("/.well-known/jwks.json")).json.keys as { kid: string }[];
    expect(keys).toHaveLength(2);
    expect(keys.at(-1)!.kid).toBe(json.kid);
    expect((await call("/api/v1/users")).status).toBe(200);
  });

  test("with retireOld takes it away, so old tokens are refused", async () => {
    const call = await machine(url);
    await control(url)("/control/keys/rotate", { retireOld: true });
    expect((await call("/.well-known/jwks.json")).json.keys).toHaveLength(1);
    expect((await call("/api/v1/users")).status).toBe(401);
    expect((await (await machine(url))("/api/v1/users")).status).toBe(200);
  });
});

describe("forged tokens", () => {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

  test.each(["alg none", "another body", "garbage"])("%s: refused", async (kind) => {
    const { access_token } = (await machineToken(url)).json;
    const [head, body, signature] = access_token.split(".") as [string, string, string];
    const other = part({ ...claimsOf(access_token), exp: 9_999_999_999 });
    const forged = {
      "alg none": `${part({ alg: "none", typ: "JWT" })}.${body}.`,
      "another body": `${head}.${other}.${signature}`,
      garbage: "a.b.c",
    }[kind]!;
    expect((await bearer(url, forged)("/api/v1/users")).status).toBe(401);
  });
});
