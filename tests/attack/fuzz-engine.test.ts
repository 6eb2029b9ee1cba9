import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { BACKEND_ENV } from "../helpers/backend.ts";
import { type EngineProcess, startEngineProcess } from "../helpers/engine-process.ts";
import { RandomValues, seededRandom } from "../helpers/random-values.ts";
import { connect, mutation, querySet, subscribed, wireClient } from "../helpers/sync-wire.ts";
import { fuzz } from "./fuzz.ts";
import { listFunctions } from "./function-list.ts";

/** The engine as a process of its own, under requests that make no sense: it answers each, and goes on being right. */

const ADMIN_KEY = "admin-key-of-the-fuzz-0123456789";
/** A process starts and many requests are sent: on a busy machine that takes its time. */
const TIMEOUT_MS = 120_000;

let folder: string;
let engine: EngineProcess;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-fuzz-"));
  const env = { ...BACKEND_ENV, LOCAL_CONVEX_ADMIN_KEY: ADMIN_KEY, LOCAL_CONVEX_BACKUP_KEY: "b".repeat(64) };
  engine = await startEngineProcess({ "data-file": join(folder, "data.sqlite") }, env);
});
afterAll(async () => {
  await engine?.kill();
  rmSync(folder, { recursive: true, force: true });
});

const health = async () => {
  const args = { serverSecret: BACKEND_ENV.HOLDFAST_SERVER_SECRETS.split(",")[0] };
  const body = JSON.stringify({ path: "health:get", args });
  const headers = { "content-type": "application/json" };
  return (await (
    await fetch(`${engine.url}/api/query`, { method: "POST", headers, body })
  ).json()) as unknown;
};

test.each([1, 2])(
  "seed %d: 500 bent requests, no fault, no hang, and the next call is right",
  { timeout: TIMEOUT_MS },
  async (seed) => {
    const { publicOnes, internalOnes } = await listFunctions();
    const call = (path: string, args: object) => JSON.stringify({ path, args, format: "json" });
    const functions = [...publicOnes, ...internalOnes].map(({ path }) => path);
    const seeds = [
      ...["query", "mutation", "action", "function", "query_at_ts"].flatMap((route) =>
        ["gate:usage", "links:resolve", "gate:admit", "inbox:deliver"].map((path) => ({
          method: "POST",
          path: `/api/${route}`,
          body: call(path, { serverSecret: "x", keyHash: "y", code: "z", key: "k", units: 1 }),
        })),
      ),
      { method: "POST", path: "/api/query_batch", body: `{"queries":[${call("gate:usage", {})}]}` },
      { method: "POST", path: "/api/query_ts" },
      { method: "POST", path: "/api/backup", body: '{"to":"/nowhere/at/all"}' },
      { method: "POST", path: "/api/run/gate/usage", body: '{"args":{}}' },
      { method: "GET", path: "/api/query?path=gate:usage&args={}" },
      { method: "GET", path: "/version" },
      { method: "GET", path: "/http/x" },
    ];
    const keys: Record<string, string>[] = [
      {},
      { authorization: "Bearer a.b.c" },
      { authorization: "Convex x" },
      { authorization: `Convex ${ADMIN_KEY}` },
      { authorization: "Basic eDp5" },
      { origin: "http://localhost:3000" },
      { origin: "https://evil.example" },
    ];
    const { faults, statuses } = await fuzz(
      { url: engine.url, seeds, keys, words: [...functions, "args", "path"] },
      seed,
      500,
    );
    expect(faults).toEqual([]);
    // Bent, but not beyond recognition.
    expect(Object.keys(statuses)).toEqual(expect.arrayContaining(["200", "400", "401", "403", "404"]));
    expect(await health()).toMatchObject({ status: "success", value: { nowMs: expect.any(Number) } });
    expect(engine.child.exitCode).toBeNull();
    expect(engine.output()).not.toMatch(/uncaught|unhandled|TypeError|RangeError/i);
  },
);

test(
  "400 bent messages over the WebSocket end connections at most, and the next client is served",
  { timeout: TIMEOUT_MS },
  async () => {
    const random = new RandomValues(seededRandom(3));
    const good = [
      connect(),
      querySet(0, [{ path: "gate:usage" }]),
      mutation(0, "credits:ensure"),
      { ...mutation(1, "limits:refreshNow"), type: "Action" },
      { type: "Authenticate", baseVersion: 0, tokenType: "User", value: "a.b.c" },
      { type: "Event", eventType: "x", event: null },
    ].map((message) => JSON.stringify(message));
    const bent = () =>
      random.pick(good).replace(/"[^"]*"|\d+|\{|\[/g, (part) => {
        if (random.below(6) > 0) return part;
        return random.pick([
          "null",
          "[]",
          "{",
          "-1",
          "1e999",
          '"\\ud800"',
          "[".repeat(50),
          '"__proto__"',
          "",
        ]);
      });
    for (let round = 0; round < 40; round += 1) {
      const client = await wireClient(engine.url);
      if (random.below(3) > 0) client.socket.send(good[0]!);
      for (let sent = 0; sent < 10; sent += 1) client.socket.send(bent());
      client.socket.close();
      await client.closed;
    }
    const client = await wireClient(engine.url);
    const { modifications } = await subscribed(client, [{ path: "gate:usage" }]);
    expect(modifications.map(({ type }) => type)).toEqual(["QueryFailed"]);
    client.socket.terminate();
    expect(engine.child.exitCode).toBeNull();
    expect(engine.output()).not.toMatch(/uncaught|unhandled|TypeError|RangeError/i);
  },
);

test.each([
  ["arrays", "[", "]"],
  ["objects", '{"a":', "}"],
])(
  "%s in each other, a hundred thousand deep, are refused and cost nobody else an answer",
  async (_name, open, close) => {
    const depth = 100_000;
    const deep = `${open.repeat(depth)}1${close.repeat(depth)}`;
    const body = `{"path":"links:resolve","args":{"serverSecret":"x","code":${deep}},"format":"json"}`;
    for (const path of ["/api/query", "/api/mutation", "/api/query_batch"]) {
      const headers = { "content-type": "application/json" };
      const sent = path === "/api/query_batch" ? `{"queries":[${body}]}` : body;
      const answer = await fetch(engine.url + path, { method: "POST", headers, body: sent });
      expect(answer.status).toBeLessThan(500);
      expect(await answer.text()).not.toContain("success");
    }
    const client = await wireClient(engine.url);
    client.send(connect());
    client.socket.send(`{"type":"Mutation","requestId":0,"udfPath":"credits:ensure","args":[${deep}]}`);
    client.send(mutation(1, "credits:ensure"));
    client.socket.close();
    await client.closed;
    expect(await health()).toMatchObject({ status: "success" });
    expect(engine.child.exitCode).toBeNull();
    expect(engine.output()).not.toMatch(/uncaught|unhandled|RangeError/i);
  },
);
