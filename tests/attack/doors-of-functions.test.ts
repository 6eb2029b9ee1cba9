import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { OPERATOR_PERMISSION } from "../../lib/kinde/permissions.ts";
import { canonicalPath } from "../../lib/local-convex/modules.ts";
import { SERVER_SECRET } from "../helpers/backend.ts";
import { connect, querySet, subscribed, wireClient } from "../helpers/sync-wire.ts";
import { argumentsFor, type Door, listFunctions, type PublicFunction } from "./function-list.ts";
import { createCustomer, type Customer, OPERATOR_KEYS, openWorld, type World } from "./world.ts";

/** Who gets through the door of each function: every one is tried, from the list of what is deployed. */
const { publicOnes, internalOnes } = await listFunctions();

const { keyHash: OPERATOR_KEY_HASH } = OPERATOR_KEYS;

let world: World;
let customer: Customer;
let operatorToken: string;
beforeAll(async () => {
  world = await openWorld();
  customer = await createCustomer(world);
  operatorToken = await world.issuer.sign({ sub: "kp_operator", permissions: [OPERATOR_PERMISSION] });
});
afterAll(() => world.close());

/** Only the shape of arguments counts: nobody here should get as far as having them read. */
const argumentsOf = (fn: PublicFunction) =>
  argumentsFor(fn, (name, isOptional) =>
    isOptional || name === "cursor" ? undefined : (customer.ids[name] ?? "x"),
  );

const through = (...doors: Door[]) =>
  publicOnes.filter(({ door }) => doors.includes(door)).map((fn) => [fn.path, fn] as const);

async function refusalOf(fn: PublicFunction, more: object, token?: string): Promise<string> {
  const { body, text } = await world.call(fn.kind, fn.path, { ...argumentsOf(fn), ...more }, token);
  if (body.status === "success") return `let in: ${text}`;
  return body.errorData?.code ?? body.code ?? text;
}

const WRONG_SECRETS = [
  "",
  "c".repeat(64),
  SERVER_SECRET.slice(1),
  `${SERVER_SECRET} `,
  `${SERVER_SECRET}\u0000`,
];

describe("functions of our server alone", () => {
  test.each(through("server"))("%s", async (_path, fn) => {
    for (const token of [undefined, customer.token, operatorToken]) {
      expect(await refusalOf(fn, {}, token)).toContain("ArgumentValidationError");
      for (const serverSecret of WRONG_SECRETS) {
        expect(await refusalOf(fn, { serverSecret }, token)).toBe("server_refused");
      }
    }
    // The arguments above are good ones: with the secret the door opens.
    const answer = await refusalOf(fn, { serverSecret: SERVER_SECRET });
    expect(answer).not.toBe("server_refused");
    expect(answer).not.toContain("ArgumentValidationError");
  });
});

describe("functions of an account", () => {
  test.each(through("account"))("%s", async (_path, fn) => {
    const { keyHash } = customer.keys;
    expect(await refusalOf(fn, {})).toBe("unauthorized");
    expect(await refusalOf(fn, { keyHash })).toBe("server_refused");
    expect(await refusalOf(fn, { serverSecret: SERVER_SECRET })).toBe("unauthorized");
    for (const serverSecret of WRONG_SECRETS) {
      expect(await refusalOf(fn, { serverSecret, keyHash })).toBe("server_refused");
      expect(await refusalOf(fn, { serverSecret, keyHash }, customer.token)).toBe("server_refused");
    }
    for (const other of [OPERATOR_KEY_HASH, "f".repeat(64), "", customer.secret]) {
      expect(await refusalOf(fn, { serverSecret: SERVER_SECRET, keyHash: other })).toBe("unauthorized");
    }
    // A signed-in operator without an account of their own has nobody's rows either.
    expect(await refusalOf(fn, {}, operatorToken)).toBe("no_account");
  });
});

describe("functions of operators", () => {
  const notQuite: [claims: string, permissions: unknown][] = [
    ["none", undefined],
    ["an empty list", []],
    ["the permission as a text", OPERATOR_PERMISSION],
    ["a longer one", [`${OPERATOR_PERMISSION}:x`]],
    ["another case", [OPERATOR_PERMISSION.toUpperCase()]],
    ["a list in the list", [[OPERATOR_PERMISSION]]],
    ["an object of it", { 0: OPERATOR_PERMISSION, length: 1 }],
  ];

  test.each(through("operator"))("%s", async (_path, fn) => {
    expect(await refusalOf(fn, {})).toBe("unauthorized");
    expect(await refusalOf(fn, {}, customer.token)).toBe("forbidden");
    expect(await refusalOf(fn, customer.keys)).toBe("forbidden");
    expect(await refusalOf(fn, { keyHash: OPERATOR_KEY_HASH })).toBe("server_refused");
    for (const serverSecret of WRONG_SECRETS) {
      expect(await refusalOf(fn, { serverSecret, keyHash: OPERATOR_KEY_HASH }, operatorToken)).toBe(
        "server_refused",
      );
    }
    for (const keyHash of ["", "0", OPERATOR_KEY_HASH.toUpperCase(), `${OPERATOR_KEY_HASH}0`]) {
      expect(await refusalOf(fn, { serverSecret: SERVER_SECRET, keyHash })).toBe("forbidden");
    }
    for (const token of tokens) expect(await refusalOf(fn, {}, token)).toBe("forbidden");
  });

  let tokens: string[];
  beforeAll(async () => {
    tokens = await Promise.all(
      notQuite.map(([, permissions]) => world.issuer.sign({ sub: "kp_almost", permissions })),
    );
  });

  test("the permission in the token opens them, in any other claim it does not", async () => {
    const health = publicOnes.find(({ path }) => path === "health:forOperators")!;
    expect(await refusalOf(health, {}, operatorToken)).toMatch(/^let in/);
    for (const claim of ["permission", "scope", "roles", "x-hasura-permissions", "isOperator"]) {
      const token = await world.issuer.sign({ sub: "kp_almost", [claim]: [OPERATOR_PERMISSION] });
      expect(await refusalOf(health, {}, token)).toBe("forbidden");
    }
  });
});

describe("functions of whoever signed in", () => {
  test.each(through("signedIn"))("%s", async (_path, fn) => {
    expect(await refusalOf(fn, {})).toBe("unauthorized");
    expect(await refusalOf(fn, customer.keys)).toContain("ArgumentValidationError");
  });
});

describe("internal functions", () => {
  test("there are some, and no public one is among them", () => {
    expect(internalOnes.length).toBeGreaterThan(50);
    const known = new Set(publicOnes.map(({ path }) => path));
    expect(internalOnes.filter(({ path }) => known.has(path))).toEqual([]);
  });

  test("are not there for anybody, over HTTP: with no token, a customer's, an operator's or the server's secret", async () => {
    for (const { path, kind } of internalOnes) {
      const [file, name] = path.split(":");
      const spellings = [path, canonicalPath(path), `${file}.js:${name}`];
      for (const token of [undefined, customer.token, operatorToken]) {
        for (const spelling of spellings) {
          const { body } = await world.call(kind, spelling, { serverSecret: SERVER_SECRET }, token);
          expect(body.errorMessage).toContain("Could not find public function");
        }
      }
      const run = await fetch(`${world.url}/api/run/${file}/${name}`, {
        method: "POST",
        body: '{"args":{}}',
      });
      expect(await run.text()).toContain("Could not find public function");
      const any = await fetch(`${world.url}/api/function`, {
        method: "POST",
        body: JSON.stringify({ path }),
      });
      expect(await any.text()).toContain("Could not find public function");
    }
  });

  test("nor over the WebSocket, as queries and as calls", async () => {
    const client = await wireClient(world.url);
    const queries = internalOnes.map(({ path }) => ({ path }));
    const { modifications } = await subscribed(client, queries);
    expect(modifications).toHaveLength(internalOnes.length);
    for (const change of modifications) {
      expect(change.type).toBe("QueryFailed");
      expect(JSON.stringify(change)).toMatch(/Could not find public function/);
    }
    for (const [requestId, { path, kind }] of internalOnes.entries()) {
      const type = kind === "action" ? "Action" : "Mutation";
      client.send({ type, requestId, udfPath: path, args: [{ serverSecret: SERVER_SECRET }] });
      const answer = await client.next(`${type}Response`, (frame) => frame.requestId === requestId);
      expect(answer).toMatchObject({ success: false });
      expect(JSON.stringify(answer)).toMatch(/Could not find public function/);
    }
    client.socket.terminate();
  });

  test.each(["", "x", "test|x", "convex"])("the admin key %j is none", async (key) => {
    const headers = { authorization: `Convex ${key}`, "content-type": "application/json" };
    const body = JSON.stringify({ path: internalOnes[0]!.path, args: {} });
    const answer = await fetch(`${world.url}/api/function`, { method: "POST", headers, body });
    expect([401, 403]).toContain(answer.status);
    const client = await wireClient(world.url);
    client.send(connect(), { type: "Authenticate", baseVersion: 0, tokenType: "Admin", value: key });
    client.send(querySet(0, [{ path: internalOnes[0]!.path }]));
    await client.closed;
    expect(client.received.map(({ type }) => type)).toEqual(["AuthError"]);
  });
});
