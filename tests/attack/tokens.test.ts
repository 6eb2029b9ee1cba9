import { createHmac } from "node:crypto";

import { exportSPKI, importJWK, type JWK } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { connect, querySet, wireClient } from "../helpers/sync-wire.ts";
import { makeKey, startTestIssuer, type TestIssuer } from "../helpers/test-issuer.ts";
import { createCustomer, type Customer, openWorld, type World } from "./world.ts";

/** Tokens that are not the tenant's word, on every way in: HTTP calls, batches and the WebSocket of the sync protocol. */

let world: World;
let customer: Customer;
let otherIssuer: TestIssuer;
let evilKey: Awaited<ReturnType<typeof makeKey>>;
beforeAll(async () => {
  evilKey = await makeKey("evil");
  world = await openWorld();
  customer = await createCustomer(world);
  otherIssuer = await startTestIssuer(await makeKey("first"));
});
afterAll(async () => {
  await otherIssuer.close();
  await world.close();
});

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const seconds = (fromNow: number) => Math.floor(Date.now() / 1000) + fromNow;
const partsOf = (token: string) => token.split(".") as [string, string, string];
const decoded = (text: string) =>
  JSON.parse(Buffer.from(text, "base64url").toString()) as Record<string, unknown>;

/** The public key as an attacker finds it, in the forms that a careless verifier takes for a shared secret. */
async function publicKeyTexts(): Promise<string[]> {
  const jwk = world.issuer.keys[0]!.publicJwk;
  const pem = await exportSPKI((await importJWK(jwk, "RS256", { extractable: true })) as CryptoKey);
  return [pem, pem.trim(), JSON.stringify(jwk), jwk.n!];
}

function hmacToken(token: string, key: string, header: object): string {
  const [, claims] = partsOf(token);
  const signed = `${part({ alg: "HS256", typ: "JWT", ...header })}.${claims}`;
  return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`;
}

type Forge = () => Promise<string | string[]>;
const sub = () => decoded(partsOf(customer.token)[1])["sub"] as string;

/** Signed with the attacker's own key, which the header offers along with it. */
function withOwnKey(header: (jwk: JWK) => Record<string, unknown>): Promise<string> {
  return world.issuer.sign({ sub: sub() }, { key: evilKey, header: header(evilKey.publicJwk) });
}

const FORGERIES: [name: string, forge: Forge][] = [
  ["expired", () => world.issuer.sign({ sub: sub(), exp: seconds(-1) })],
  ["without an end", () => world.issuer.sign({ sub: sub(), exp: undefined })],
  ["not valid yet", () => world.issuer.sign({ sub: sub(), nbf: seconds(600) })],
  ["for another audience", () => world.issuer.sign({ sub: sub(), aud: ["holdfast-web"] })],
  ["for no audience", () => world.issuer.sign({ sub: sub(), aud: undefined })],
  [
    "for an audience that begins like ours",
    () => world.issuer.sign({ sub: sub(), aud: ["convex.evil.example"] }),
  ],
  ["of an issuer that names itself", () => otherIssuer.sign({ sub: sub() })],
  ["of another issuer in our issuer's name", () => otherIssuer.sign({ sub: sub(), iss: world.issuer.url })],
  [
    "of an issuer whose name begins like ours",
    () => otherIssuer.sign({ sub: sub(), iss: `${world.issuer.url}.evil.example` }),
  ],
  [
    "without a signature, whatever the case of none",
    async () => {
      const [, claims] = partsOf(customer.token);
      return ["none", "None", "NONE", "nOnE", ""].flatMap((alg) => {
        const header = part({ alg, typ: "JWT", kid: "first" });
        return [`${header}.${claims}.`, `${header}.${claims}.x`, `${header}.${claims}`];
      });
    },
  ],
  [
    "signed with the public key as a shared secret",
    async () => (await publicKeyTexts()).map((key) => hmacToken(customer.token, key, { kid: "first" })),
  ],
  ["of a key that the issuer does not publish", async () => withOwnKey(() => ({}))],
  ["of a key under the issuer's key id", async () => withOwnKey(() => ({ kid: "first" }))],
  ["that brings its key along", async () => withOwnKey((jwk) => ({ kid: "first", jwk }))],
  ["that says where its key is", async () => withOwnKey(() => ({ kid: "first", jku: otherIssuer.jwksUrl }))],
  [
    "whose key id is a path or a query",
    async () => {
      const kids = [
        "../../../../dev/null",
        "first' OR '1'='1",
        "",
        "first\u0000",
        "__proto__",
        "constructor",
      ];
      return await Promise.all(kids.map((kid) => withOwnKey(() => ({ kid }))));
    },
  ],
  [
    "whose claims were changed after it was signed",
    async () => {
      const [header, claims, signature] = partsOf(customer.token);
      const changed = part({ ...decoded(claims), permissions: ["operate:holdfast"] });
      return [`${header}.${changed}.${signature}`, `${header}.${claims}.${signature.slice(0, -4)}AAAA`];
    },
  ],
  [
    "in pieces or in too many",
    async () => {
      const [header, claims, signature] = partsOf(customer.token);
      return [
        `${header}.${claims}`,
        `${customer.token}.x`,
        `.${claims}.${signature}`,
        `${header}..${signature}`,
      ];
    },
  ],
];

const forged = async (forge: Forge): Promise<string[]> => [await forge()].flat();

test("a good token is let in on each of the ways", async () => {
  const { body } = await world.call("query", "gate:usage", {}, customer.token);
  expect(body.value).toMatchObject({ accountId: customer.accountId });
  const client = await wireClient(world.url);
  client.send(connect(), authenticate(customer.token), querySet(0, [{ path: "gate:usage" }]));
  await client.next("Transition", (frame) => frame.endVersion.querySet === 1);
  expect(client.values().get(0)).toMatchObject({ accountId: customer.accountId });
  client.socket.terminate();
});

const authenticate = (value: string) => ({ type: "Authenticate", baseVersion: 0, tokenType: "User", value });

describe("a token", () => {
  test.each(FORGERIES)("%s: 401 over HTTP, and no call runs as nobody instead", async (_name, forge) => {
    for (const token of await forged(forge)) {
      for (const kind of ["query", "mutation", "action"] as const) {
        // `signIn:me` would answer an anonymous caller with a refusal of its own, which is another one.
        const answer = await world.call(kind, "signIn:me", {}, token);
        expect(answer.status).toBe(401);
        expect(answer.text).not.toContain(customer.accountId);
      }
      const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
      const batch = JSON.stringify({ queries: [{ path: "gate:usage", args: {} }] });
      for (const [path, method, body] of [
        ["/api/query_batch", "POST", batch],
        ["/api/query?path=gate:usage&args={}", "GET", null],
        ["/api/run/gate/usage", "POST", '{"args":{}}'],
      ] as const) {
        const answer = await fetch(world.url + path, { method, headers, body });
        expect(answer.status).toBe(401);
      }
    }
  });

  test.each(FORGERIES)(
    "%s: an AuthError over the WebSocket, and nothing of the customer's",
    async (_name, forge) => {
      for (const token of await forged(forge)) {
        const client = await wireClient(world.url);
        client.send(connect(), authenticate(token), querySet(0, [{ path: "gate:usage" }]));
        client.send({ type: "Mutation", requestId: 0, udfPath: "credits:ensure", args: [{}] });
        await client.closed;
        expect(client.received.map(({ type }) => type)).toEqual(["AuthError"]);
        expect(JSON.stringify(client.received)).not.toContain(customer.accountId);
      }
    },
  );
});

describe("without a token", () => {
  test("the WebSocket gives the refusal of the function, and no row", async () => {
    const client = await wireClient(world.url);
    client.send(connect(), querySet(0, [{ path: "gate:usage" }, { path: "signIn:me" }]));
    const { modifications } = await client.next("Transition");
    expect(modifications.map(({ type }) => type)).toEqual(["QueryFailed", "QueryFailed"]);
    expect(JSON.stringify(modifications)).toContain("unauthorized");
    client.socket.terminate();
  });

  test("a token of before does not speak for what follows a sign-out", async () => {
    const client = await wireClient(world.url);
    client.send(connect(), authenticate(customer.token), {
      type: "Authenticate",
      baseVersion: 1,
      tokenType: "None",
    });
    client.send(querySet(0, [{ path: "gate:usage" }]));
    const { modifications } = await client.next("Transition", (frame) => frame.endVersion.querySet === 1);
    expect(modifications.map(({ type }) => type)).toEqual(["QueryFailed"]);
    client.socket.terminate();
  });
});
