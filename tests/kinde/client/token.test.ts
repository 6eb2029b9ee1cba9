import { expect, test } from "vitest";
import { TokenStoreError } from "../../../lib/kinde/token.ts";
import {
  CLIENT_ID,
  ENTITLEMENTS_PATH,
  METER_PATH,
  OK,
  SECRET,
  START_MS,
  TOKEN,
  TOKEN_PATH,
  emptyEntitlements,
  failed,
  tokenBody,
  useBench,
} from "./fixtures.ts";
import { cut, json, silent } from "./scripted-server.ts";

const bench = useBench();
const ask = (client = bench.client()) => client.readEntitlements({ customerId: "customer_1" });

test("the token is asked for once, by form, with the API of the issuer as audience", async () => {
  bench.server.script(TOKEN_PATH, tokenBody());
  bench.server.always(ENTITLEMENTS_PATH, emptyEntitlements);
  const client = bench.client();
  await ask(client);
  await ask(client);
  const [request, ...others] = bench.server.to(TOKEN_PATH);
  expect(others).toEqual([]);
  expect(request!.method).toBe("POST");
  expect(request!.headers["content-type"]).toBe("application/x-www-form-urlencoded");
  expect(request!.headers["authorization"]).toBeUndefined();
  expect(Object.fromEntries(new URLSearchParams(request!.body))).toEqual({
    grant_type: "client_credentials",
    client_id: CLIENT_ID,
    client_secret: SECRET,
    audience: `${bench.server.url}/api`,
  });
  expect(bench.server.to(ENTITLEMENTS_PATH)[0]!.headers["authorization"]).toBe(`Bearer ${TOKEN}`);
});

test("another audience is sent when one is set", async () => {
  bench.server.script(TOKEN_PATH, tokenBody());
  bench.server.script(ENTITLEMENTS_PATH, emptyEntitlements);
  await ask(bench.client({ audience: "https://example.kinde.com/api" }));
  const form = new URLSearchParams(bench.server.to(TOKEN_PATH)[0]!.body);
  expect(form.get("audience")).toBe("https://example.kinde.com/api");
});

test.each([
  ["an hour", 3600, 3600 - 60],
  ["a day less a second", 86_399, 86_399 - 60],
  ["two minutes", 120, 60],
  ["25 seconds, of which half is kept back", 25, 12.5],
])("a token of %s is used until its margin and not in it", async (_name, lifeSeconds, usedSeconds) => {
  bench.server.script(TOKEN_PATH, tokenBody("first", lifeSeconds), tokenBody("second", lifeSeconds));
  bench.server.always(ENTITLEMENTS_PATH, emptyEntitlements);
  const client = bench.client();
  await ask(client);
  bench.clockMs = START_MS + usedSeconds * 1000 - 1;
  await ask(client);
  bench.clockMs = START_MS + usedSeconds * 1000;
  await ask(client);
  const used = bench.server.to(ENTITLEMENTS_PATH).map((request) => request.headers["authorization"]);
  expect(used).toEqual(["Bearer first", "Bearer first", "Bearer second"]);
});

test("a stored token serves the next client", async () => {
  bench.server.script(TOKEN_PATH, tokenBody());
  bench.server.always(ENTITLEMENTS_PATH, emptyEntitlements);
  await ask(bench.client());
  expect(bench.store.token).toEqual({ accessToken: TOKEN, expiresAtMs: START_MS + 3_540_000 });
  expect((await ask(bench.client())).kind).toBe("read");
  expect(bench.server.to(TOKEN_PATH)).toHaveLength(1);
});

test("a client asks its store once and not before every call", async () => {
  bench.server.script(TOKEN_PATH, tokenBody());
  bench.server.always(ENTITLEMENTS_PATH, emptyEntitlements);
  const client = bench.client();
  for (let call = 0; call < 3; call += 1) await ask(client);
  expect(bench.store.reads).toBe(1);
});

test("ten calls at once share one request for a token", async () => {
  bench.server.script(TOKEN_PATH, tokenBody());
  bench.server.always(ENTITLEMENTS_PATH, emptyEntitlements);
  const client = bench.client();
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(client)));
  expect(answers.every((answer) => answer.kind === "read")).toBe(true);
  expect(bench.server.to(TOKEN_PATH)).toHaveLength(1);
});

test("a stored token that the API refuses is replaced once and the call sent again", async () => {
  bench.store.token = { accessToken: "old", expiresAtMs: START_MS + 1_000_000 };
  bench.server.script(TOKEN_PATH, tokenBody("new"));
  bench.server.script(ENTITLEMENTS_PATH, json(401, {}), emptyEntitlements);
  expect((await ask()).kind).toBe("read");
  expect(bench.server.to(ENTITLEMENTS_PATH).map((request) => request.headers["authorization"])).toEqual([
    "Bearer old",
    "Bearer new",
  ]);
  expect(bench.store.token.accessToken).toBe("new");
});

test("ten calls whose token is refused share one new token", async () => {
  bench.store.token = { accessToken: "old", expiresAtMs: START_MS + 1_000_000 };
  bench.server.script(TOKEN_PATH, tokenBody("new"));
  bench.server.always(ENTITLEMENTS_PATH, (response, request) => {
    if (request.headers["authorization"] === "Bearer old") json(401, {})(response);
    else json(200, emptyEntitlements)(response);
  });
  const client = bench.client();
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(client)));
  expect(answers.every((answer) => answer.kind === "read")).toBe(true);
  expect(bench.server.to(TOKEN_PATH)).toHaveLength(1);
});

test("a token that another client stored meanwhile is taken before a new one is asked for", async () => {
  bench.store.token = { accessToken: "old", expiresAtMs: START_MS + 1_000_000 };
  bench.server.script(
    ENTITLEMENTS_PATH,
    emptyEntitlements,
    (response) => {
      const other = { accessToken: "another", expiresAtMs: START_MS + 1_000_000 };
      bench.store.token = other;
      json(401, {})(response);
    },
    emptyEntitlements,
  );
  const client = bench.client();
  await ask(client);
  expect((await ask(client)).kind).toBe("read");
  expect(bench.server.to(ENTITLEMENTS_PATH).at(-1)!.headers["authorization"]).toBe("Bearer another");
});

test("a second 401 is the answer", async () => {
  bench.server.script(TOKEN_PATH, tokenBody("one"), tokenBody("two"));
  bench.server.script(ENTITLEMENTS_PATH, json(401, {}), json(401, {}));
  expect(await ask()).toEqual(
    failed({ code: "unauthorized", status: 401, message: `GET ${ENTITLEMENTS_PATH}: it answered 401` }),
  );
});

test("the same token again after it was refused ends the call", async () => {
  bench.server.script(TOKEN_PATH, tokenBody("one"), tokenBody("one"));
  bench.server.script(ENTITLEMENTS_PATH, json(401, {}));
  expect(await ask()).toMatchObject({ kind: "failed", code: "unauthorized", committed: "no" });
});

test("a meter write that a 401 kept out is sent again with a new token", async () => {
  bench.store.token = { accessToken: "old", expiresAtMs: START_MS + 1_000_000 };
  bench.server.script(TOKEN_PATH, tokenBody("new"));
  bench.server.script(METER_PATH, json(401, {}), OK);
  const write = { agreementId: "agreement_1", featureKey: "clicks", totalUnits: 7 };
  expect(await bench.client().writeMeter(write)).toEqual({ kind: "written" });
});

test.each([
  ["invalid_client", 401, "unauthorized"],
  ["unauthorized_client", 403, "forbidden"],
  ["invalid_scope", 400, "unauthorized"],
])("the token error %s is told by its code", async (error, status, code) => {
  bench.server.script(TOKEN_PATH, json(status, { error, error_description: `no: ${SECRET}` }));
  expect(await ask()).toEqual(
    failed({
      code: code as "forbidden",
      status,
      errorCode: error,
      message: `POST ${TOKEN_PATH}: it answered ${status} (${error})`,
    }),
  );
});

test.each([
  ["no life", { access_token: TOKEN }, "expires_in"],
  ["a life of zero", tokenBody(TOKEN, 0), "expires_in"],
  ["a life as text", { ...tokenBody(), expires_in: "3600" }, "expires_in"],
  ["no token", { expires_in: 3600 }, "access_token"],
  ["a token with a line break", tokenBody("one\r\ntwo"), "access_token"],
  ["another type of token", { ...tokenBody(), token_type: "mac" }, "token_type"],
])("a token answer with %s is a bad answer that names the field", async (_name, body, path) => {
  bench.server.script(TOKEN_PATH, body);
  expect(await ask()).toEqual(
    failed({
      code: "bad_answer",
      status: 200,
      message: `POST ${TOKEN_PATH}: unexpected value at ${path}`,
    }),
  );
});

test("a token request that fails in passing is tried again", async () => {
  bench.server.script(TOKEN_PATH, cut, json(503, {}), json(429, {}, { "ratelimit-reset": "1" }), tokenBody());
  bench.server.script(ENTITLEMENTS_PATH, emptyEntitlements);
  expect((await ask()).kind).toBe("read");
  expect(bench.slept).toHaveLength(3);
});

test("a token endpoint that stays silent fails the call as not committed", async () => {
  bench.server.always(TOKEN_PATH, silent);
  const client = bench.client({ callTimeoutMs: 30, attemptsMax: 2 });
  const write = { agreementId: "agreement_1", featureKey: "clicks", totalUnits: 7 };
  expect(await client.writeMeter(write)).toEqual(
    failed({ code: "timeout", message: `POST ${TOKEN_PATH}: no answer in 30 ms` }),
  );
});

test("a request for a token that failed is made anew by the next call", async () => {
  bench.server.script(TOKEN_PATH, json(400, { error: "invalid_request" }), tokenBody());
  bench.server.script(ENTITLEMENTS_PATH, emptyEntitlements);
  const client = bench.client();
  expect((await ask(client)).kind).toBe("failed");
  expect((await ask(client)).kind).toBe("read");
});

test("a store that fails is an error of its own, without the token", async () => {
  bench.server.script(TOKEN_PATH, tokenBody());
  bench.store.write = () => Promise.reject(new Error(`cannot store ${TOKEN}`));
  const error = await ask().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TokenStoreError);
  expect((error as Error).cause).toBeUndefined();
  expect(String((error as Error).stack)).not.toContain(TOKEN);
  bench.store.read = () => Promise.reject(new Error(TOKEN));
  await expect(ask()).rejects.toThrow("the stored Kinde token cannot be read");
});
