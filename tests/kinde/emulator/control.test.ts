import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { addCustomer, authUrl, bearer, control, machine, send, type Caller } from "./calls.ts";
import { CONTROL_KEY, openEmulator, SITE, type TestEmulator } from "./emulator-server.ts";

let emulator: TestEmulator;
let url: string;
let call: Caller;
beforeEach(async () => {
  emulator = await openEmulator();
  url = emulator.url;
  call = control(url);
});
afterEach(() => emulator.close());

/** fetch sets Host itself. */
function statusWithHost(path: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { host, authorization: `Bearer ${CONTROL_KEY}` };
    request(url + path, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on("error", reject)
      .end();
  });
}

describe("the control API refuses", () => {
  test.each([
    ["no key", {}],
    ["a wrong key", { authorization: "Bearer control-key-of-the-test!" }],
    ["a key of another length", { authorization: `Bearer ${CONTROL_KEY}x` }],
    ["a key under another scheme", { authorization: `Basic ${CONTROL_KEY}` }],
  ])("%s: 401", async (_, headers) => {
    expect((await send(`${url}/control/state`, { headers: headers as Record<string, string> })).status).toBe(
      401,
    );
  });

  test.each([SITE, "http://127.0.0.1:1", "null"])(
    "the key in a request of a page (Origin %s): 403",
    async (origin) => {
      for (const path of ["/control/state", "/control/log", "/control/nothing"]) {
        const reply = await send(url + path, { headers: { origin, authorization: `Bearer ${CONTROL_KEY}` } });
        expect(reply.status).toBe(403);
        expect(reply.headers.get("access-control-allow-origin")).toBeNull();
      }
    },
  );

  test("even its own origin, and a preflight", async () => {
    const headers = { origin: url, authorization: `Bearer ${CONTROL_KEY}` };
    expect((await send(`${url}/control/state`, { headers })).status).toBe(403);
    expect((await send(`${url}/control/faults`, { method: "OPTIONS", headers })).status).toBe(403);
  });

  test("a Host that is not loopback, as does every other path", async () => {
    for (const host of [
      "evil.example",
      "evil.example:80",
      "127.0.0.1.evil.example",
      "localhost.evil.example",
    ]) {
      expect(await statusWithHost("/control/state", host)).toBe(403);
      expect(await statusWithHost("/.well-known/jwks.json", host)).toBe(403);
    }
    for (const host of ["localhost:1", "127.0.0.1", "[::1]:3220"]) {
      expect(await statusWithHost("/control/state", host)).toBe(200);
    }
  });

  test("a machine token", async () => {
    expect((await (await machine(url))("/control/state")).status).toBe(401);
  });
});

describe("the control API", () => {
  test("makes users and changes their plan", async () => {
    const { userId, agreementId } = await addCustomer(url, "a@example.com", "customer_starter_plan");
    const changed = await call(`/control/users/${userId}/plan`, { planKey: "customer_pro_plan" });
    expect(changed.json.agreement).toMatchObject({ planKey: "customer_pro_plan", endedAtMs: null });
    const { json } = await call("/control/state");
    expect(json.users).toMatchObject([{ id: userId, email: "a@example.com", permissions: [] }]);
    expect(json.agreements.find((row: { id: string }) => row.id === agreementId).endedAtMs).toBe(
      emulator.nowMs(),
    );
    expect((await call("/control/users/kp_0/plan", { planKey: "customer_pro_plan" })).status).toBe(404);
    expect((await call(`/control/users/${userId}/plan`, { planKey: "gold" })).status).toBe(400);
    const again = { givenName: "A", familyName: "B", email: "A@example.com" };
    expect((await call("/control/users", again)).status).toBe(409);
    expect((await call("/control/users", { ...again, email: "b@example.com", admin: true })).status).toBe(
      400,
    );
  });

  test("adds what a second writer would", async () => {
    const { agreementId } = await addCustomer(url, "a@example.com");
    const delta = { agreementId, featureKey: "tokens", deltaUnits: 7 };
    expect((await call("/control/meter", delta)).json.totalUnits).toBe(7);
    expect((await call("/control/state")).json.meters).toEqual([
      { agreementId, featureKey: "tokens", records: 1, totalUnits: 7 },
    ]);
    expect((await call("/control/meter", { ...delta, featureKey: 7 })).status).toBe(400);
  });

  test.each([
    [{ endpoint: "/api/v1/users", fault: "earthquake" }, "fault"],
    [{ endpoint: "api/v1/users", fault: "slow" }, "endpoint"],
    [{ endpoint: "PUT /api/v1/users", fault: "slow" }, "endpoint"],
    [{ endpoint: "/control/log", fault: "slow" }, "endpoint"],
    [{ endpoint: "*", fault: "slow", count: 0 }, "count"],
    [{ endpoint: "*", fault: "slow", probability: 2 }, "probability"],
    [{ endpoint: "*", fault: "slow", delay: 5 }, "delay"],
    [[], "object"],
  ])("refuses the fault %j and names what is wrong", async (body, word) => {
    const reply = await call("/control/faults", body);
    expect(reply.status).toBe(400);
    expect(JSON.stringify(reply.json.errors)).toContain(word);
  });

  test("takes 100 faults and no more", async () => {
    for (let index = 0; index < 100; index += 1) {
      expect((await call("/control/faults", { endpoint: "/nowhere", fault: "slow" })).status).toBe(201);
    }
    expect((await call("/control/faults", { endpoint: "/nowhere", fault: "slow" })).status).toBe(409);
    expect((await call("/control/faults", undefined, "DELETE")).json).toEqual({ removed: 100 });
  });
});

describe("the request log", () => {
  test("lists path, status and fault, and never a code, a token or a secret", async () => {
    const asMachine = await machine(url);
    await call("/control/faults", { endpoint: "/api/v1/users", fault: "forbidden", count: 1 });
    await asMachine("/api/v1/users?email=private@example.com");
    await send(authUrl(url, { state: "state-secret" }));
    const { text, json } = await call("/control/log");
    expect(json.entries).toMatchObject([
      { method: "POST", path: "/oauth2/token", status: 200, faults: [] },
      { method: "GET", path: "/api/v1/users", status: 403, faults: ["forbidden"] },
      { method: "GET", path: "/oauth2/auth", status: 200 },
    ]);
    for (const secret of ["private", "state-secret", "Bearer", "eyJ", "b".repeat(40)])
      expect(text).not.toContain(secret);
    expect((await call(`/control/log?after=${json.entries[1].seq}`)).json.entries).toHaveLength(1);
  });

  test("keeps the last 1000", async () => {
    for (let index = 0; index < 1_005; index += 1) await send(`${url}/.well-known/jwks`);
    const { entries } = (await call("/control/log")).json;
    expect(entries).toHaveLength(1_000);
    expect(entries[0].seq).toBe(6);
  });
});

test("a body over 64 KiB is 413", async () => {
  const reply = await bearer(url, CONTROL_KEY)("/control/users", { givenName: "x".repeat(70_000) });
  expect(reply.status).toBe(413);
});

describe("a backup", () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "emulator-backup-"))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("has the users and the signing key, and another emulator runs on it", async () => {
    const { userId } = await addCustomer(url, "ada@example.com");
    const file = join(folder, "copy.sqlite");
    expect(await call("/control/backup", { file })).toMatchObject({
      status: 200,
      json: { bytes: statSync(file).size },
    });
    expect(statSync(file).mode & 0o077).toBe(0);
    const { json: before } = await call("/control/state");
    const copy = await openEmulator({ dataFile: file });
    try {
      const { json: after } = await control(copy.url)("/control/state");
      expect(after).toMatchObject({ currentKid: before.currentKid, users: [{ id: userId }] });
    } finally {
      await copy.close();
    }
  });

  test("is not written over a file, nor to a place that is none", async () => {
    const mine = join(folder, "mine");
    writeFileSync(mine, "mine");
    for (const file of [mine, "copy.sqlite", "", join(folder, "no", "copy"), 5, undefined]) {
      expect((await call("/control/backup", { file })).status).toBe(400);
    }
    expect(readdirSync(folder)).toEqual(["mine"]);
  });
});
