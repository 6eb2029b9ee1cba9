import { CompactSign, exportSPKI, importJWK, type CompactJWSHeaderParameters, type CryptoKey } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { cachedKeys, REFETCH_AFTER_MS, STALE_AFTER_MS, type KeySource } from "../../lib/inbox/keys.ts";
import { verifyDelivery } from "../../lib/inbox/verify.ts";
import { makeKey } from "../helpers/test-issuer.ts";

type Key = Awaited<ReturnType<typeof makeKey>>;

const ISSUER = "https://tenant.example";
const EVENT = {
  type: "customer.plan_changed",
  event_id: "event_1",
  timestamp: "2026-10-21T02:29:24.481368869+11:00",
  event_timestamp: "2026-10-21T02:29:23.403633+11:00",
  data: { customer_id: "customer_1", plan: { key: "customer_pro_plan" } },
};

let key: Key;
let newKey: Key;
let otherKey: Key;

beforeAll(async () => {
  [key, newKey, otherKey] = await Promise.all([makeKey("2a:e0:4f"), makeKey("new"), makeKey("other")]);
});

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function sign(
  payload: unknown,
  header: Record<string, unknown> = {},
  signer: Pick<Key, "kid" | "privateKey"> = key,
): Promise<string> {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const fields = { alg: "RS256", kid: signer.kid, typ: "JWT", ...header } as CompactJWSHeaderParameters;
  return new CompactSign(bytes(text)).setProtectedHeader(fields).sign(signer.privateKey);
}

/** A token with whatever header, whose signature nobody made. */
function forged(header: object, payload: object = EVENT): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part(header)}.${part(payload)}.${Buffer.alloc(256, 7).toString("base64url")}`;
}

/** A key endpoint in memory, with a clock that only the test moves. */
function endpoint(keys: readonly Key[]) {
  const state = { keys, isDown: false, fetches: 0, nowMs: 0, jwk: {} as Record<string, unknown> };
  const fetchFn = (async () => {
    state.fetches += 1;
    if (state.isDown) throw new TypeError("fetch failed");
    return Response.json({ keys: state.keys.map(({ publicJwk }) => ({ ...publicJwk, ...state.jwk })) });
  }) as typeof fetch;
  const source = cachedKeys({
    jwksUrl: `${ISSUER}/.well-known/jwks.json`,
    elapsedMs: () => state.nowMs,
    fetch: fetchFn,
  });
  return { state, source };
}

const judge = (body: string | Uint8Array, keys: KeySource = endpoint([key]).source) =>
  verifyDelivery(typeof body === "string" ? bytes(body) : body, { issuerUrl: ISSUER, keys });

describe("C15: verified over the raw bytes", () => {
  test.each([
    ["as it is", (token: string) => token],
    ["with a trailing newline", (token: string) => `${token}\r\n`],
    ["with a byte order mark", (token: string) => `\u{feff}${token}`],
  ])("C15: a body %s", async (_, change) => {
    expect(await judge(change(await sign(EVENT)))).toMatchObject({
      kind: "verified",
      body: { kind: "event", eventId: "event_1", type: "customer.plan_changed" },
      payload: JSON.stringify(EVENT),
      kid: "2a:e0:4f",
    });
  });

  test("C15: JSON escapes inside the signed payload are kept and understood", async () => {
    const payload = String.raw`{"type":"customer\u002eplan_changed","event_id":"event_\u0031"}`;
    expect(await judge(await sign(payload))).toMatchObject({
      kind: "verified",
      body: { eventId: "event_1", type: "customer.plan_changed" },
      payload,
    });
  });

  test("C15: a byte order mark inside the signed payload is no part of its JSON", async () => {
    const body = await sign(`\u{feff}${JSON.stringify(EVENT)}`);
    expect(await judge(body)).toMatchObject({ kind: "verified", body: { kind: "event" } });
  });

  test("C15: one changed byte of the payload is refused", async () => {
    const [header, , signature] = (await sign(EVENT)).split(".");
    const other = Buffer.from(JSON.stringify({ ...EVENT, event_id: "event_2" })).toString("base64url");
    expect(await judge(`${header}.${other}.${signature}`)).toMatchObject({ status: 401, code: "signature" });
  });

  test("C17, C18: nothing but the bytes is looked at, so no content type can matter", async () => {
    // The signature takes a body, an issuer and keys. There is no way to hand it a header of the request.
    expect(verifyDelivery).toHaveLength(2);
    expect(await judge(await sign(EVENT))).toMatchObject({ kind: "verified" });
  });

  test("the same payload signed with another key has the same hash", async () => {
    const { source } = endpoint([key, newKey]);
    const [one, other] = [
      await judge(await sign(EVENT), source),
      await judge(await sign(EVENT, {}, newKey), source),
    ];
    expect(one).toMatchObject({ kind: "verified", payloadHash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(other).toEqual({ ...one, kid: "new" });
  });
});

describe("C19-C21: refused with 401, nothing stored", () => {
  test.each(["", "hello", "{}", "a.b", "a.b.c.d", "a.b.c", JSON.stringify(EVENT), "\u0000.\u0000.\u0000"])(
    "C20: a body that is no token: %j",
    async (body) => {
      expect(await judge(body)).toEqual({ kind: "refused", status: 401, code: "not_a_token" });
    },
  );

  test("C20: bytes that are no text", async () => {
    expect(await judge(new Uint8Array([255, 254, 0, 1]))).toMatchObject({ status: 401 });
  });

  test("C19: HS256 with our public key as its secret", async () => {
    const publicKey = (await importJWK({ ...key.publicJwk, ext: true }, "RS256")) as CryptoKey;
    const secret = bytes(await exportSPKI(publicKey));
    const token = await new CompactSign(bytes(JSON.stringify(EVENT)))
      .setProtectedHeader({ alg: "HS256", kid: key.kid })
      .sign(secret);
    expect(await judge(token)).toMatchObject({ status: 401, code: "algorithm" });
  });

  test.each(["none", "None", "nOnE", "RS512", "RS384", "ES256", "PS256", "HS256", "rs256", ""])(
    "C20: alg %j",
    async (alg) => {
      expect(await judge(forged({ alg, kid: key.kid }))).toMatchObject({ status: 401, code: "algorithm" });
    },
  );

  test("C20: an unsigned token, its last part empty", async () => {
    const token = forged({ alg: "none", kid: key.kid }).replace(/[^.]*$/, "");
    expect(await judge(token)).toMatchObject({ status: 401, code: "not_a_token" });
  });

  test.each([
    ["jwk", () => ({ jwk: otherKey.publicJwk })],
    ["jku", () => ({ jku: "https://evil.example/keys" })],
    ["x5u", () => ({ x5u: "https://evil.example/cert" })],
    ["x5c", () => ({ x5c: ["AAAA"] })],
    ["crit", () => ({ crit: ["exp"], exp: 1 })],
  ])("C21: a header that brings %s, signed with its own key", async (_, extra) => {
    const { source, state } = endpoint([key]);
    const header = Buffer.from(JSON.stringify({ alg: "RS256", kid: key.kid, ...extra() })).toString(
      "base64url",
    );
    const [, payload, signature] = (await sign(EVENT, {}, otherKey)).split(".");
    const verdict = await judge(`${header}.${payload}.${signature}`, source);
    expect(verdict).toMatchObject({ status: 401, code: "embedded_key" });
    expect(state.fetches).toBe(0);
  });

  test("C21: signed by another key under a known key id", async () => {
    const token = await sign(EVENT, { kid: key.kid }, otherKey);
    expect(await judge(token)).toEqual({ kind: "refused", status: 401, code: "signature" });
  });

  test("a token without a key id", async () => {
    expect(await judge(forged({ alg: "RS256" }))).toMatchObject({ status: 401, code: "no_key_id" });
  });

  test.each([{ use: "enc" }, { use: undefined }, { alg: "RS512" }, { kty: "EC" }, { n: "AQAB" }])(
    "a key that is not meant for RS256 signatures is no key: %j",
    async (jwk) => {
      const { source, state } = endpoint([key]);
      state.jwk = jwk;
      expect(await judge(await sign(EVENT), source)).toMatchObject({ status: 401, code: "unknown_key" });
    },
  );
});

describe("whose token it is", () => {
  test("C18b: a genuine webhook without iss is accepted, one of the tenant too, a foreign one is not", async () => {
    expect(await judge(await sign(EVENT))).toMatchObject({ kind: "verified" });
    expect(await judge(await sign({ ...EVENT, iss: ISSUER }))).toMatchObject({ kind: "verified" });
    expect(await judge(await sign({ ...EVENT, iss: `${ISSUER}/` }))).toMatchObject({ kind: "verified" });
    for (const iss of ["https://evil.example", `${ISSUER}.evil.example`, "", null, 1, [ISSUER]]) {
      expect(await judge(await sign({ ...EVENT, iss }))).toMatchObject({ status: 401, code: "issuer" });
    }
  });

  test.each<[string, object]>([
    [
      "an access token",
      { iss: ISSUER, sub: "kp_1", aud: ["convex"], azp: "client", scp: ["openid"], exp: 1 },
    ],
    ["an ID token", { iss: ISSUER, sub: "kp_1", aud: [ISSUER], email: "a@b.example" }],
    ["a machine token", { iss: ISSUER, azp: "client", gty: ["client_credentials"] }],
    ["a token with a type that is none", { sub: "kp_1", type: null, event_id: "event_1" }],
    ...["sub", "azp", "scp", "gty", "aud"].map(
      (claim) => [`a token with ${claim} alone`, { [claim]: null }] as [string, object],
    ),
  ])("C22: %s of the same tenant is refused", async (_, claims) => {
    expect(await judge(await sign(claims))).toEqual({ kind: "refused", status: 401, code: "user_token" });
  });

  test("C22: a webhook that happens to carry such a claim is still a webhook", async () => {
    expect(await judge(await sign({ ...EVENT, sub: "kp_1" }))).toMatchObject({ kind: "verified" });
  });

  test.each([
    ["null", null],
    ["a list", []],
    ["a text", '"hello"'],
    ["no JSON", "hello"],
    ["empty", ""],
    ["without a type", { event_id: "event_1" }],
    ["without an event id", { type: "user.created" }],
    ["with a number as its id", { type: "user.created", event_id: 1 }],
    ["with an endless id", { type: "user.created", event_id: "e".repeat(201) }],
  ])("C35: a verified body that is %s is malformed, with its hash", async (_, payload) => {
    const verdict = await judge(await sign(payload));
    expect(verdict).toMatchObject({ kind: "verified", body: { kind: "malformed" } });
    expect(verdict).toHaveProperty("payloadHash", expect.stringMatching(/^[0-9a-f]{64}$/));
  });

  test("C35: a verified body of 1 MB is an event like any other", async () => {
    const large = { ...EVENT, data: { note: "x".repeat(1024 * 1024) } };
    expect(await judge(await sign(large))).toMatchObject({ kind: "verified", body: { kind: "event" } });
  });
});

describe("keys", () => {
  test("C24: the first token with a new key id costs one fetch and is accepted; so is the next", async () => {
    const { source, state } = endpoint([key]);
    await judge(await sign(EVENT), source);
    state.keys = [key, newKey];
    state.nowMs = REFETCH_AFTER_MS;
    expect(await judge(await sign(EVENT, {}, newKey), source)).toMatchObject({ kind: "verified" });
    expect(await judge(await sign(EVENT, {}, newKey), source)).toMatchObject({ kind: "verified" });
    expect(state.fetches).toBe(2);
  });

  test("C24: within 30 s of the last fetch a new key id is answered 503, and known keys keep working", async () => {
    const { source, state } = endpoint([key]);
    await judge(await sign(EVENT), source);
    state.keys = [key, newKey];
    state.nowMs = REFETCH_AFTER_MS - 1;
    const token = await sign(EVENT, {}, newKey);
    expect(await judge(token, source)).toEqual({ kind: "undecided", status: 503, code: "too_soon" });
    expect(await judge(await sign(EVENT), source)).toMatchObject({ kind: "verified" });
    expect(state.fetches).toBe(1);
    state.nowMs = REFETCH_AFTER_MS;
    expect(await judge(token, source)).toMatchObject({ kind: "verified" });
  });

  test("C24: while the key endpoint is down a new key id is answered 503, and known keys keep working", async () => {
    const { source, state } = endpoint([key]);
    await judge(await sign(EVENT), source);
    state.isDown = true;
    state.nowMs = STALE_AFTER_MS;
    const verdict = await judge(await sign(EVENT, {}, newKey), source);
    expect(verdict).toEqual({ kind: "undecided", status: 503, code: "unavailable" });
    expect(await judge(await sign(EVENT), source)).toMatchObject({ kind: "verified" });
    expect(state.fetches).toBe(2);
  });

  test("C24: an endpoint that answers something else than keys takes none away", async () => {
    const { source, state } = endpoint([key]);
    await judge(await sign(EVENT), source);
    state.keys = { map: () => "none" } as unknown as Key[];
    state.nowMs = REFETCH_AFTER_MS;
    expect(await judge(await sign(EVENT, {}, newKey), source)).toMatchObject({ status: 503 });
    expect(await judge(await sign(EVENT), source)).toMatchObject({ kind: "verified" });
  });

  test("C24: a key that was taken out of the set stops working once old keys are fetched again", async () => {
    const { source, state } = endpoint([key]);
    await judge(await sign(EVENT), source);
    state.keys = [newKey];
    state.nowMs = STALE_AFTER_MS;
    expect(await judge(await sign(EVENT), source)).toMatchObject({ kind: "verified" });
    await expect.poll(async () => (await judge(await sign(EVENT), source)).kind).toBe("undecided");
    expect(state.fetches).toBe(2);
  });

  test("C25: 1,000 tokens with made-up key ids in 30 s cause one fetch; the next 30 s one more", async () => {
    const { source, state } = endpoint([key]);
    const flood = async (): Promise<Set<number>> => {
      const statuses = new Set<number>();
      for (let batch = 0; batch < 20; batch += 1) {
        const tokens = Array.from({ length: 50 }, () => forged({ alg: "RS256", kid: crypto.randomUUID() }));
        const verdicts = await Promise.all(tokens.map((token) => judge(token, source)));
        for (const verdict of verdicts) statuses.add(verdict.kind === "verified" ? 200 : verdict.status);
        expect(await judge(await sign(EVENT), source)).toMatchObject({ kind: "verified" });
        state.nowMs += REFETCH_AFTER_MS / 20;
      }
      return statuses;
    };
    // Those of the first batch share the fetch and hear that their key is none; the others are told to come back.
    expect(await flood()).toEqual(new Set([401, 503]));
    expect(state.fetches).toBe(1);
    await flood();
    expect(state.fetches).toBe(2);
  });

  test("C25: an endpoint that is down is not asked more often for it", async () => {
    const { source, state } = endpoint([key]);
    state.isDown = true;
    for (let second = 0; second < 60; second += 1) {
      await judge(await sign(EVENT), source);
      state.nowMs += 1_000;
    }
    expect(state.fetches).toBe(2);
  });
});
