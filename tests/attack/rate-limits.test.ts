import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  FAILED_KEYS,
  FAILED_SESSIONS,
  HEALTH_CHECKS,
  type LimitRule,
  REFUSED_WEBHOOKS,
  SIGN_INS,
  UNKNOWN_CODES,
} from "../../lib/server/client-limits.ts";
import { createApiKey } from "../../lib/server/api-keys.ts";
import { processRedirects } from "../../lib/server/redirect-deps.ts";
import { customerEvent } from "../helpers/inbox.ts";
import { makeKey } from "../helpers/test-issuer.ts";
import { readAnswers, sendRaw } from "../scripts/raw-http.ts";
import { type Door, openDoor } from "./door.ts";
import { createCustomer, type Customer, openWorld, OPERATOR_KEY, type World } from "./world.ts";

/** What a client without a sign-in may ask for without end, and what not: on the routes of the front door as they are. */

let world: World;
let door: Door;
let customer: Customer;
beforeAll(async () => {
  world = await openWorld();
  customer = await createCustomer(world);
  door = await openDoor(world);
});
afterAll(async () => {
  await door.close();
  await world.close();
});

let clients = 0;
/** An address that nothing was held against before. */
const newClient = (): string => {
  clients += 1;
  return `198.51.100.${clients}`;
};

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const guess = () => bearer(createApiKey().secret);
type Ask = (client: string) => Promise<Response>;

async function statuses(ask: Ask, client: string, times: number): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: times }, () => ask(client)));
  return [...new Set(answers.map(({ status }) => status))];
}

let codes = 0;
const unknownCode = (): string => {
  codes += 1;
  return `nobody-has-${codes}`;
};

const WAYS: [name: string, rule: LimitRule, usual: number, ask: Ask][] = [
  ["a wrong API key", FAILED_KEYS, 401, (client) => door.ask(client, "/api/v1/usage", guess())],
  ["no API key", FAILED_KEYS, 401, (client) => door.ask(client, "/api/v1/usage")],
  [
    "a wrong operator key",
    FAILED_KEYS,
    403,
    (client) => door.ask(client, "/api/v1/accounts", bearer("hf_op_x")),
  ],
  ["a wrong key for the metrics", FAILED_KEYS, 403, (client) => door.ask(client, "/api/metrics", guess())],
  [
    "a webhook that the tenant did not sign",
    REFUSED_WEBHOOKS,
    401,
    (client) => door.ask(client, "/api/webhooks/kinde", { method: "POST", body: "a.b.c" }),
  ],
  ["a code that nobody has", UNKNOWN_CODES, 404, (client) => door.ask(client, `/${unknownCode()}`)],
  ["a sign-in", SIGN_INS, 299, (client) => door.ask(client, "/api/auth/login")],
  ["a health check", HEALTH_CHECKS, 200, (client) => door.ask(client, "/api/health")],
];

describe.each(WAYS)("%s", (_name, { burst, everyMs }, usual, ask) => {
  test("is answered as often as the burst says, then 429 with the wait that is true", async () => {
    const client = newClient();
    expect(await statuses(ask, client, burst - 1)).toEqual([usual]);
    expect((await ask(client)).status).toBe(usual);
    const refused = await ask(client);
    expect(refused.status).toBe(429);
    const waitSeconds = Number(refused.headers.get("retry-after"));
    expect(waitSeconds).toBe(Math.max(1, Math.ceil(everyMs / 1000)));
    // Refused requests cost nothing: whoever waits as told is let in.
    expect(await statuses(ask, client, 20)).toEqual([429]);
    door.advanceMs(everyMs);
    expect((await ask(client)).status).toBe(usual);
    expect((await ask(client)).status).toBe(429);
  });

  test("many at once are answered no more often than the burst says", async () => {
    const client = newClient();
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => ask(client)));
    const counted = answers.filter(({ status }) => status === usual).length;
    expect([counted, new Set(answers.map(({ status }) => status))]).toEqual([burst, new Set([usual, 429])]);
    expect((await ask(client)).status).toBe(429);
  });

  test("of one client is held against no other", async () => {
    const client = newClient();
    await statuses(ask, client, burst + 1);
    expect((await ask(client)).status).toBe(429);
    expect((await ask(newClient())).status).toBe(usual);
  });
});

describe("who does nothing wrong is never held back", () => {
  test("a good key, twice the burst at once and once more", async () => {
    const client = newClient();
    const ask = (from: string) => door.ask(from, "/api/v1/usage", bearer(customer.secret));
    expect(await statuses(ask, client, FAILED_KEYS.burst * 2)).toEqual([200]);
    expect(await statuses(ask, client, FAILED_KEYS.burst)).toEqual([200]);
  });

  test("a good key goes on beside somebody who guesses from the same address; a revoked one does not", async () => {
    const client = newClient();
    const other = await createCustomer(world);
    const ask = (key: string) => door.ask(client, "/api/v1/usage", bearer(key));
    expect((await ask(other.secret)).status).toBe(200);
    await statuses(() => door.ask(client, "/api/v1/usage", guess()), client, FAILED_KEYS.burst + 5);
    expect((await door.ask(client, "/api/v1/usage", guess())).status).toBe(429);
    expect((await ask(other.secret)).status).toBe(200);
    const { body } = await world.call(
      "mutation",
      "apiKeys:revokeOwn",
      { apiKeyId: other.ids["apiKeyId"] },
      other.token,
    );
    expect(body.value).toMatchObject({ kind: "revoked" });
    expect((await ask(other.secret)).status).toBe(401);
    expect((await ask(other.secret)).status).toBe(429);
  });

  /** Uses up what an address may fail, and goes on while `act` is under way. */
  async function amongGuesses<T>(client: string, act: () => Promise<T>): Promise<T> {
    await statuses(() => door.ask(client, "/api/v1/usage", guess()), client, FAILED_KEYS.burst + 5);
    const flood = Array.from({ length: 500 }, () => door.ask(client, "/api/v1/usage", guess()));
    const answer = await act();
    expect(new Set((await Promise.all(flood)).map(({ status }) => status))).toEqual(new Set([429]));
    return answer;
  }

  test("a good key that was never used here is answered among the guesses of its neighbours", async () => {
    const client = newClient();
    const [reading, starting] = [await createCustomer(world), await createCustomer(world)];
    const read = () => door.ask(client, "/api/v1/usage", bearer(reading.secret));
    expect((await amongGuesses(client, read)).status).toBe(200);
    const start = (key: string) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const body = JSON.stringify({ key: "among-guesses", units: 1 });
      return door.ask(client, "/api/v1/jobs", { method: "POST", headers, body });
    };
    expect((await amongGuesses(client, () => start(starting.secret))).status).toBe(201);
    expect((await amongGuesses(client, () => start(createApiKey().secret))).status).toBe(429);
  });

  test("a good key is answered beside workers that go on with a revoked one", async () => {
    const client = newClient();
    const revoked = guess();
    const work = (from: string) => door.ask(from, "/api/v1/usage", revoked);
    await statuses(work, client, FAILED_KEYS.burst + 1);
    const other = await createCustomer(world);
    expect(await statuses(work, client, 200)).toEqual([429]);
    expect((await door.ask(client, "/api/v1/usage", bearer(other.secret))).status).toBe(200);
  });

  test("a good key is answered while a neighbour takes his time over bodies", async () => {
    const client = newClient();
    const other = await createCustomer(world);
    await statuses(() => door.ask(client, "/api/v1/usage", guess()), client, FAILED_KEYS.burst);
    const slow = Array.from({ length: 100 }, () => {
      const socket = connect({ host: "127.0.0.1", port: door.port }).on("error", () => undefined);
      const lines = [
        "POST /api/v1/jobs HTTP/1.1",
        "Host: localhost",
        `X-Forwarded-For: ${client}`,
        `Authorization: ${guess().headers.authorization}`,
        "Content-Type: application/json",
        "Content-Length: 100",
      ];
      socket.write(`${lines.join("\r\n")}\r\n\r\n{`);
      return socket;
    });
    await Promise.all(slow.map((socket) => once(socket, "connect")));
    expect((await door.ask(client, "/api/v1/usage", bearer(other.secret))).status).toBe(200);
    for (const socket of slow) socket.destroy();
  });

  test("what a path takes may be asked with any key, and makes none a good one", async () => {
    const client = newClient();
    const wrong = guess();
    const times = FAILED_KEYS.burst * 2;
    const options = (from: string) => door.ask(from, "/api/v1/jobs", { ...wrong, method: "OPTIONS" });
    expect(await statuses(options, client, times)).toEqual([204]);
    const ask = (from: string) => door.ask(from, "/api/v1/usage", wrong);
    const answers = await Promise.all(Array.from({ length: times }, () => ask(client)));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(FAILED_KEYS.burst);
    expect(await statuses(options, client, 1)).toEqual([204]);
    expect(await statuses(ask, client, 1)).toEqual([429]);
  });

  test("a session is answered whatever keys fail at its address, and ended ones cost no key its tries", async () => {
    const client = newClient();
    const read = (token: string) => {
      const headers = { cookie: `access_token=${token}`, "sec-fetch-site": "same-origin" };
      return door.ask(client, "/api/v1/usage/entries", { headers });
    };
    expect((await amongGuesses(client, () => read(customer.token))).status).toBe(200);
    const ended = await world.issuer.sign({ sub: "kp_ended", exp: 1 });
    const neighbour = newClient();
    const ask = (from: string) =>
      door.ask(from, "/api/v1/usage/entries", { headers: { cookie: `access_token=${ended}` } });
    expect(await statuses(ask, neighbour, FAILED_SESSIONS.burst)).toEqual([401]);
    expect(await statuses(ask, neighbour, 20)).toEqual([429]);
    expect((await door.ask(neighbour, "/api/v1/usage", guess())).status).toBe(401);
  });

  test("the description of the API is read whatever keys fail at the address", async () => {
    const client = newClient();
    const answer = await amongGuesses(client, () => door.ask(client, "/api/v1/openapi.json"));
    expect(answer.status).toBe(200);
  });

  test("a webhook that the tenant signed is stored among forged ones of the same address", async () => {
    const client = newClient();
    const post = (body: string) => door.ask(client, "/api/webhooks/kinde", { method: "POST", body });
    const sign = (id: string, key?: Awaited<ReturnType<typeof makeKey>>) => {
      const at = new Date(world.inside.nowMs()).toISOString();
      return world.issuer.sign(customerEvent("plan_changed", id, at), key && { key });
    };
    const forged = await sign("event_forged", await makeKey("first"));
    await statuses(() => post(forged), client, REFUSED_WEBHOOKS.burst + 5);
    const flood = Array.from({ length: 300 }, () => post(forged));
    const genuine = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => post(await sign(`event_among_${index}`))),
    );
    expect(new Set(genuine.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set((await Promise.all(flood)).map(({ status }) => status))).toEqual(new Set([429]));
  });

  test("links that are not known here yet, many at once", async () => {
    const client = newClient();
    const { code } = customer.ids;
    processRedirects().links.forget(code!);
    const ask = (from: string) => door.ask(from, `/${code}`);
    expect(await statuses(ask, client, UNKNOWN_CODES.burst * 4)).toEqual([302]);
  });

  test("a link that is known here is followed, whoever scans codes from the same address", async () => {
    const client = newClient();
    const { code } = customer.ids;
    const notKept = await createCustomer(world);
    expect((await door.ask(newClient(), `/${code}`)).status).toBe(302);
    await statuses((from) => door.ask(from, `/${unknownCode()}`), client, UNKNOWN_CODES.burst + 1);
    expect((await door.ask(client, `/${code}`)).status).toBe(302);
    const held = await door.ask(client, `/${notKept.ids["code"]}`);
    expect([held.status, held.headers.get("content-type")]).toEqual([429, "text/html; charset=utf-8"]);
    expect((await door.ask(newClient(), `/${notKept.ids["code"]}`)).status).toBe(302);
  });

  test("reads of the API's description, and answers that say a thing is not there", async () => {
    const client = newClient();
    const times = FAILED_KEYS.burst + 10;
    expect(await statuses((from) => door.ask(from, "/api/v1/openapi.json"), client, times)).toEqual([200]);
    const missing = `/api/v1/jobs/${customer.ids["linkId"]}`;
    const ask = (from: string) => door.ask(from, missing, bearer(customer.secret));
    expect(await statuses(ask, client, times)).toEqual([404]);
  });
});

describe("no spelling of a path leads past its limit", () => {
  const SPELLINGS = [
    "/api/v1/./usage",
    "/api/v1/x/../usage",
    "/api/v1/%75sage",
    "/api/v1/usage#x",
    "/api/v1/usage/",
    "//api/v1/usage",
    "/api\\v1\\usage",
    "/api%2Fv1%2Fusage",
    "/%7aCODE",
    "/./zCODE",
    "/zCODE/",
    "/zCODE#x",
    "/zCODE%",
    "/api/./auth/login",
    "/api/%61uth/login",
    "/api//auth/login",
    "/api/webhooks/./kinde",
    "/api/./metrics",
    "/api/%68ealth",
    "http://localhost/api/v1/usage",
    // Next's own ways from one path to another.
    "/_next/data/build/zCODE.json",
    "/_next/data/build/api/auth/login.json",
    "/_next/image?url=%2FzCODE&w=640&q=75",
  ];

  test.each(SPELLINGS)("%s", async (target) => {
    const before = door.passedOn.length;
    for (const method of ["GET", "POST"]) {
      const head = `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close`;
      const answers = readAnswers(await sendRaw(door.port, `${head}\r\n\r\n`));
      expect([308, 404]).toContain(answers[0]?.status);
      expect(answers[0]?.headers["location"] ?? "/").toMatch(/^\/(?![/\\])/);
    }
    expect(door.passedOn.slice(before)).toEqual([]);
  });

  test("and a link in another spelling is still followed", async () => {
    const { code } = customer.ids;
    const escaped = `%${code!.charCodeAt(0).toString(16)}${code!.slice(1)}`;
    const moved = await door.ask(newClient(), `/${escaped}?a=1`);
    expect([moved.status, moved.headers.get("location")]).toEqual([308, `/${code}?a=1`]);
  });
});

test("an address that the client makes up changes nothing", async () => {
  const client = newClient();
  const ask = (made: string) => {
    const headers = { "x-forwarded-for": `${made}, ${client}` };
    return fetch(`${door.url}/api/v1/usage`, { headers });
  };
  const answers = await Promise.all(
    Array.from({ length: FAILED_KEYS.burst }, (_, index) => ask(`203.0.113.${index}`)),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
  expect((await ask("203.0.113.250")).status).toBe(429);
});

test("the metrics count what was held back, by the guard that did", async () => {
  const read = async (): Promise<Record<string, number>> => {
    const answer = await door.ask(newClient(), "/api/metrics", bearer(OPERATOR_KEY));
    return ((await answer.json()) as { heldBack: Record<string, number> }).heldBack;
  };
  const before = await read();
  for (const [name, { burst }, , ask] of WAYS) {
    const client = newClient();
    await statuses(ask, client, burst + 3);
    expect([name, (await ask(client)).status]).toEqual([name, 429]);
  }
  const after = await read();
  const more = Object.fromEntries(
    Object.entries(after).map(([name, count]) => [name, count - before[name]!]),
  );
  expect(more).toEqual({ keys: 16, sessions: 0, webhooks: 4, codes: 4, sign_ins: 4, health_checks: 4 });
  const headers = { ...bearer(OPERATOR_KEY).headers, accept: "text/plain" };
  const text = await (await door.ask(newClient(), "/api/metrics", { headers })).text();
  expect(text).toContain(`holdfast_held_back_total{guard="codes"} ${after["codes"]}\n`);
});
