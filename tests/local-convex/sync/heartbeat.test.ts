import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { HEARTBEAT, heartbeatOf } from "../../../lib/local-convex/sync/heartbeat.ts";
import { SyncServer } from "../../../lib/local-convex/sync/sync-server.ts";
import { localBackend, type LocalBackend } from "../../helpers/local-backend.ts";
import { until } from "../../helpers/sync-backend.ts";
import { subscribed, wireClient } from "../../helpers/sync-wire.ts";

let backend: LocalBackend;
let http: Server;
let sync: SyncServer;
let nowMs: number;
let url: string;

/** A sync server that looks at its connections often, on a clock that the test moves. */
beforeEach(async () => {
  nowMs = 0;
  backend = await localBackend({ functionsDir: join(import.meta.dirname, "..", "functions") });
  sync = new SyncServer(backend.engine, {
    authenticate: async () => ({ kind: "refused", message: "nobody" }),
    nowMs: () => nowMs,
    heartbeat: { ...HEARTBEAT, probeEveryMs: 5 },
  });
  http = createServer();
  http.on("upgrade", (request, socket, head) => sync.upgrade(request, socket, head));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});

afterEach(async () => {
  sync.close();
  await new Promise((resolve) => http.close(resolve));
  await backend.close();
});

test("a client that hears nothing for 15 s gets a Ping, and may be silent itself as long as it pongs", async () => {
  const client = await wireClient(url);
  await subscribed(client, []);
  const pings = () => client.received.filter((frame) => frame.type === "Ping").length;
  for (let beat = 1; beat <= 20; beat++) {
    nowMs += 15_000;
    await until(() => pings() === beat);
  }
  expect(client.received.map((frame) => frame.type)).toEqual(["Transition", ...Array(20).fill("Ping")]);
  expect(client.socket.readyState).toBe(client.socket.OPEN);
});

test("a client that answers no ping for 120 s is dropped, and its queries with it", async () => {
  const client = await wireClient(url, { autoPong: false });
  await subscribed(client, [{ path: "sync:total" }]);
  nowMs += 119_999;
  await client.next("Ping");
  nowMs += 1;
  expect((await client.closed).code).toBe(1006);
  const before = backend.engine.counts.queries;
  await backend.mutation("sync:add", { owner: "a", b: 1 });
  await backend.query("sync:total");
  expect(backend.engine.counts.queries - before).toBe(1);
});

test("what is due depends on who was silent how long", () => {
  expect(heartbeatOf(HEARTBEAT, 14_999, 0, 0)).toBe("probe");
  expect(heartbeatOf(HEARTBEAT, 15_000, 0, 10_000)).toBe("ping");
  expect(heartbeatOf(HEARTBEAT, 119_999, 0, 0)).toBe("ping");
  expect(heartbeatOf(HEARTBEAT, 130_000, 129_000, 10_000)).toBe("drop");
});
