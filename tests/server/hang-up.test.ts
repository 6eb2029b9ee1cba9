import { once } from "node:events";
import { request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getFunctionName } from "convex/server";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startServer, type RunningServer } from "../../lib/local-convex/server.ts";
import { createApiKey } from "../../lib/server/api-keys.ts";
import { handleApi } from "../../lib/server/api/router.ts";
import { createConvexGateway, type ConvexGateway } from "../../lib/server/convex.ts";
import type { ServerDeps } from "../../lib/server/deps.ts";
import { createFrontDoor } from "../../lib/server/front-door.ts";
import { gatherGateCalls } from "../../lib/server/gate-batches.ts";
import { createWebServer } from "../../lib/server/node-http.ts";
import { readSessionToken } from "../../lib/server/session-token.ts";
import {
  BACKEND_ENV,
  OPERATOR_KEY_HASH,
  SERVER_SECRET,
  START_MS,
  type StoredRow,
} from "../helpers/backend.ts";
import { localBackend, type LocalBackend } from "../helpers/local-backend.ts";

/*
 * A32: clients that go away, over the front door's own sockets. Each is gone once its request has been read and before
 * the gate has been asked, so that nobody is left to take the answer.
 */

interface EntryRow extends StoredRow {
  readonly key: string;
  readonly units: number;
}

interface JobRow extends StoredRow {
  readonly key: string;
  readonly status: string;
  readonly usedUnits: number;
}

let backend: LocalBackend;
let engine: RunningServer;
let door: Server;
let secret: string;
/** While there is one, calls of this function wait for it; told when the first has come. */
let held: { readonly name: string; readonly arrived: () => void; readonly until: Promise<void> } | null;

function holdable(gateway: ConvexGateway): ConvexGateway {
  return {
    ...gateway,
    mutation: async (ref, args, caller) => {
      if (held !== null && getFunctionName(ref) === held.name) {
        const { arrived, until } = held;
        held = null;
        arrived();
        await until;
      }
      return await gateway.mutation(ref, args, caller);
    },
  };
}

beforeEach(async () => {
  held = null;
  backend = await localBackend({
    functionsDir: join(import.meta.dirname, "../../convex"),
    startMs: START_MS,
    env: BACKEND_ENV,
  });
  engine = await startServer(backend.engine, { host: "127.0.0.1", port: 0 });
  const gateway = createConvexGateway({
    url: `http://127.0.0.1:${engine.port}`,
    serverSecret: SERVER_SECRET,
  });
  const deps: ServerDeps = {
    convex: holdable(gatherGateCalls(gateway, Date.now)),
    nowMs: Date.now,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    random: Math.random,
    elapsedMs: () => performance.now(),
    answered: () => undefined,
    newId: () => "error-id",
    readSessionToken,
    log: () => undefined,
  };
  const listener = createFrontDoor({
    routes: [{ matches: () => true, handle: (request) => handleApi(request, deps) }],
    siteUrl: "http://localhost:3000",
    headers: {},
    rest: async (_incoming, outgoing) => void outgoing.end(),
  });
  door = createWebServer(listener);
  door.listen(0, "127.0.0.1");
  await once(door, "listening");

  const keys = { serverSecret: SERVER_SECRET, keyHash: OPERATOR_KEY_HASH };
  const { account } = await backend.mutation<{ account: { id: string } }>("accounts:create", {
    ...keys,
    name: "tenant",
    limitUnits: 1_000,
  });
  const key = createApiKey();
  secret = key.secret;
  await backend.mutation("apiKeys:create", {
    ...keys,
    accountId: account.id,
    keyHashNew: key.keyHash,
    prefix: key.prefix,
    name: "test",
    scopes: ["jobs:read", "jobs:write", "usage:read"],
  });
});
afterEach(async () => {
  door.closeAllConnections();
  door.close();
  await engine.close();
  await backend.close();
});

const headers = () => ({ authorization: `Bearer ${secret}`, "content-type": "application/json" });
const port = () => (door.address() as AddressInfo).port;

async function post(path: string, body: object) {
  const response = await fetch(`http://127.0.0.1:${port()}/api/v1${path}`, {
    method: "POST",
    headers: headers(),
    body: JSON.stringify(body),
  });
  return { status: response.status, json: (await response.json()) as Record<string, never> };
}

/** Sends a request and is gone before the function with this name is called for it. */
async function postAndHangUp(path: string, body: object, name: string): Promise<void> {
  let goOn = (): void => undefined;
  const until = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const arrival = new Promise<void>((arrived) => {
    held = { name, arrived, until };
  });
  const sockets = once(door, "connection") as Promise<[import("node:net").Socket]>;
  const sent = httpRequest({
    host: "127.0.0.1",
    port: port(),
    path: `/api/v1${path}`,
    method: "POST",
    headers: headers(),
    agent: false,
  });
  sent.on("error", () => undefined);
  sent.end(JSON.stringify(body));
  const [socket] = await sockets;
  await arrival;
  const closed = once(socket, "close");
  sent.destroy();
  await closed;
  goOn();
}

const jobs = () => backend.readAll<JobRow>("jobs");
const entries = () => backend.readAll<EntryRow>("entries");

test("A32: a step whose client hung up is charged, once, and the job it leaves behind is paid for", async () => {
  const { job } = (await post("/jobs", { key: "k", units: 100, leaseMs: 10_000 })).json as unknown as {
    job: { id: string; fence: number };
  };
  const charge = (step: number) => ({ step, units: 30, fence: job.fence });
  expect((await post(`/jobs/${job.id}/charge`, charge(1))).status).toBe(200);
  await postAndHangUp(`/jobs/${job.id}/charge`, charge(2), "gate:charge");
  await expect.poll(jobs).toMatchObject([{ status: "running", usedUnits: 60 }]);
  expect(await post(`/jobs/${job.id}/charge`, charge(2))).toMatchObject({
    status: 200,
    json: { chargedUnits: 30, replayed: true },
  });
  await backend.advanceMs(30_000);
  expect(await jobs()).toMatchObject([{ status: "expired", usedUnits: 60 }]);
  expect(await entries()).toMatchObject([{ key: job.id, units: 60 }]);
});

test("A32: a job whose client hung up at the start runs to its end and pays for every step", async () => {
  const runner = { steps: 3, stepUnits: 20, stepMs: 1_000 };
  const started = { key: "k", units: 100, runner };
  await postAndHangUp("/jobs", started, "gate:admit");
  await expect.poll(jobs).toHaveLength(1);
  await backend.advanceMs(10_000);
  expect(await jobs()).toMatchObject([{ key: "k", status: "completed", usedUnits: 60 }]);
  expect(await entries()).toMatchObject([{ units: 60 }]);
  expect(await post("/jobs", started)).toMatchObject({ status: 200, json: { replayed: true } });
});
