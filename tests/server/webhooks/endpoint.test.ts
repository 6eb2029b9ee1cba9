import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { CompactSign, type CompactJWSHeaderParameters } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cachedKeys } from "../../../lib/inbox/keys.ts";
import { BODY_BYTES_MAX } from "../../../lib/inbox/verify.ts";
import { BackendError } from "../../../lib/server/convex.ts";
import { createFrontDoor } from "../../../lib/server/front-door.ts";
import type { LogEvent } from "../../../lib/server/deps.ts";
import { createWebhooks, type Webhooks } from "../../../lib/server/webhooks/handler.ts";
import { makeKey } from "../../helpers/test-issuer.ts";

type Key = Awaited<ReturnType<typeof makeKey>>;

const EVENT = {
  type: "customer.plan_changed",
  event_id: "event_1",
  event_timestamp: "2026-10-21T02:29:23.403633+11:00",
  data: { customer_id: "customer_1", plan: { key: "customer_pro_plan" } },
};

let key: Key;
let keysShown: Key[];
let fetches: number;
let nowMs: number;
let delivered: { payload: string; webhookId: string | null }[];
let failure: Error | null;
let logged: LogEvent[];
let webhooks: Webhooks;
let issuer: Server;
let site: Server;
let siteUrl: string;
let issuerUrl: string;

beforeEach(async () => {
  key = await makeKey("key-1");
  keysShown = [key];
  fetches = 0;
  nowMs = 0;
  delivered = [];
  failure = null;
  logged = [];
  issuer = createServer((_, response) => {
    fetches += 1;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ keys: keysShown.map(({ publicJwk }) => publicJwk) }));
  });
  issuerUrl = await listening(issuer);
  webhooks = createWebhooks({
    issuerUrl,
    keys: cachedKeys({ jwksUrl: `${issuerUrl}/.well-known/jwks.json`, elapsedMs: () => nowMs }),
    deliver({ payload, webhookId }) {
      if (failure !== null) return Promise.reject(failure);
      delivered.push({ payload, webhookId });
      return Promise.resolve({ kind: "stored" as const, flags: [] });
    },
    log: (event) => void logged.push(event),
  });
  const route = {
    matches: (pathname: string) => pathname === "/api/webhooks/kinde",
    handle: webhooks.handle,
  };
  const rest = () => Promise.reject(new Error("no other path is asked for"));
  site = createServer(createFrontDoor({ routes: [route], siteUrl: undefined, headers: {}, rest }));
  siteUrl = await listening(site);
});

afterEach(async () => {
  await Promise.all([issuer, site].map((server) => new Promise((done) => server.close(done))));
});

async function listening(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function sign(payload: unknown, header: Record<string, unknown> = {}, signer: Key = key) {
  const fields = { alg: "RS256", kid: signer.kid, typ: "JWT", ...header } as CompactJWSHeaderParameters;
  const bytes = new TextEncoder().encode(JSON.stringify(payload));
  return new CompactSign(bytes).setProtectedHeader(fields).sign(signer.privateKey);
}

function post(body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${siteUrl}/api/webhooks/kinde`, {
    method: "POST",
    body,
    headers: { "content-type": "application/jwt", "webhook-id": "wh_1", ...headers },
  });
}

test("a signed event is handed on with its signed bytes, and answered 200", async () => {
  const response = await post(await sign(EVENT));
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: "stored", flags: [] });
  expect(delivered).toEqual([{ payload: JSON.stringify(EVENT), webhookId: "wh_1" }]);
  expect(webhooks.counts).toMatchObject({ stored: 1, copies: 0 });
});

describe("C17, C18: the token is judged, not its header", () => {
  test.each(["application/jwt", "application/json", "text/plain; charset=latin1", "image/png"])(
    "C17: content type %s",
    async (type) => {
      expect((await post(await sign(EVENT), { "content-type": type })).status).toBe(200);
    },
  );

  test("C17: no content type, no webhook-id", async () => {
    const bytes = new TextEncoder().encode(await sign(EVENT));
    const response = await fetch(`${siteUrl}/api/webhooks/kinde`, { method: "POST", body: bytes });
    expect(response.status).toBe(200);
    expect(delivered).toMatchObject([{ webhookId: null }]);
  });

  test.each(["gzip", "br", "aes128gcm"])("C18: the encoding %s is 415", async (encoding) => {
    const response = await post(gzipSync(await sign(EVENT)), { "content-encoding": encoding });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ code: "unsupported_encoding" });
    expect(delivered).toEqual([]);
  });
});

describe("what is not stored", () => {
  test("C19-C22: another signer, another algorithm, a user token: 401, nothing stored, counted", async () => {
    const stranger = await makeKey("key-1");
    const bodies = [
      await sign(EVENT, {}, stranger),
      `${Buffer.from('{"alg":"none","kid":"key-1"}').toString("base64url")}.e30.AA`,
      await sign({ sub: "kp_1", aud: ["convex"], scp: ["openid"] }),
      await sign({ ...EVENT, iss: "https://elsewhere.example" }),
      "not a token",
    ];
    for (const body of bodies) {
      const response = await post(body);
      expect(response.status).toBe(401);
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({ code: "webhook_refused" });
      expect(text).not.toMatch(/stack|node_modules|\.ts/);
    }
    expect(delivered).toEqual([]);
    expect(webhooks.counts.refused).toMatchObject({
      signature: 1,
      algorithm: 1,
      user_token: 1,
      issuer: 1,
      not_a_token: 1,
    });
  });

  test("C24, C25: unknown key ids ask once in 30 s and are 503 meanwhile; known keys go on", async () => {
    expect((await post(await sign(EVENT))).status).toBe(200);
    const next = await makeKey("key-2");
    const token = await sign(EVENT, {}, next);
    nowMs += 31_000;
    expect((await post(token)).status).toBe(401);
    keysShown = [key, next];
    const flood = await Promise.all(
      Array.from(
        { length: 50 },
        async (_, index) => (await post(await sign(EVENT, { kid: `junk-${index}` }))).status,
      ),
    );
    expect(new Set(flood)).toEqual(new Set([503]));
    const waiting = await post(token);
    expect(waiting.status).toBe(503);
    expect(Number(waiting.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await post(await sign(EVENT))).status).toBe(200);
    expect(fetches).toBe(2);
    nowMs += 31_000;
    expect((await post(token)).status).toBe(200);
    expect(fetches).toBe(3);
  });

  test("C05: a store that fails is 500, so that it is sent again, and says nothing of the inside", async () => {
    failure = new BackendError("unreachable", "connect ECONNREFUSED 127.0.0.1:3210");
    const response = await post(await sign(EVENT));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("ECONNREFUSED");
    expect(logged).toMatchObject([{ event: "webhook_not_stored", fault: "unreachable" }]);
    expect(webhooks.counts.storeFailed).toBe(1);
  });

  test("C35: 1 MB is taken, more than the maximum is 413 whether its length is told or not", async () => {
    const large = { ...EVENT, data: { ...EVENT.data, note: "x".repeat(1_000_000) } };
    expect((await post(await sign(large))).status).toBe(200);
    const tooLarge = "x".repeat(BODY_BYTES_MAX + 1);
    expect((await post(tooLarge)).status).toBe(413);
    const stream = new ReadableStream({
      start(controller) {
        for (let sent = 0; sent <= BODY_BYTES_MAX; sent += 65_536) controller.enqueue(new Uint8Array(65_536));
        controller.close();
      },
    });
    const response = await fetch(`${siteUrl}/api/webhooks/kinde`, {
      method: "POST",
      body: stream,
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(413);
    expect(webhooks.counts.tooLarge).toBe(2);
  });
});
