import { request as httpRequest } from "node:http";

import { makeFunctionReference } from "convex/server";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { syncBackend, type SyncBackend } from "../../helpers/sync-backend.ts";
import { connect, mutation, querySet, subscribed, wireClient } from "../../helpers/sync-wire.ts";

let sync: SyncBackend;

beforeEach(async () => {
  sync = await syncBackend();
});

afterEach(() => sync.close());

describe("trap 19: only a broken protocol is fatal", () => {
  const remove = { type: "Remove", queryId: 0 };
  test.each<[string, object | string, string]>([
    ["no JSON", "{", "not JSON"],
    ["no object", "[]", "must be an object"],
    ["an unknown type", { type: "Hello" }, 'Unknown message type "Hello"'],
    [
      "a fractional request id",
      { ...mutation(0, "x"), requestId: 1.5 },
      "`requestId` must be a whole number",
    ],
    ["arguments that are no list", { ...mutation(0, "x"), args: {} }, "`args` must be an array"],
    ["an argument that is no object", { ...mutation(0, "x"), args: [1] }, "must be an object"],
    ["a path that is no text", { ...mutation(0, "x"), udfPath: null }, "`udfPath` must be a string"],
    [
      "a query set out of step",
      { type: "ModifyQuerySet", baseVersion: 3, newVersion: 4, modifications: [remove] },
      "Base version 3 passed up doesn't match the current version 0",
    ],
    [
      "a query set that goes back",
      { type: "ModifyQuerySet", baseVersion: 0, newVersion: 0, modifications: [] },
      "must be a later one",
    ],
    [
      "an identity out of step",
      { type: "Authenticate", baseVersion: 2, tokenType: "None" },
      "doesn't match the current identity version 0",
    ],
    ["an unknown token type", { type: "Authenticate", baseVersion: 0, tokenType: "Card" }, '"Card"'],
    [
      "a function of a component",
      { ...mutation(0, "x"), componentPath: "other" },
      "Components are not supported",
    ],
    ["a second Connect", connect(), "Connect was sent twice"],
    ["a session without a name", { type: "Connect", sessionId: "" }, "`sessionId`"],
    [
      "a query twice",
      {
        type: "ModifyQuerySet",
        baseVersion: 0,
        newVersion: 1,
        modifications: [1, 1].map((queryId) => ({ type: "Add", queryId, udfPath: "sync:total", args: [{}] })),
      },
      "Query 1 is there already",
    ],
  ])("%s", async (_name, message, text) => {
    const client = await wireClient(sync.url);
    client.send(connect());
    client.socket.send(typeof message === "string" ? message : JSON.stringify(message));
    expect((await client.next("FatalError")).error).toContain(text);
    expect((await client.closed).code).toBe(1008);
    const other = await wireClient(sync.url);
    expect((await subscribed(other, [{ path: "sync:total" }])).modifications).toHaveLength(1);
  });

  test("a function that fails, is missing or gets wrong arguments is not", async () => {
    const client = await wireClient(sync.url);
    await subscribed(client, [{ path: "sync:missing" }, { path: "sync:ofOwner", args: { owner: 1 } }]);
    client.send(mutation(0, "sync:fail"), mutation(1, "nowhere:at_all"), {
      type: "Event",
      eventType: "x",
      event: 1,
    });
    await client.next("MutationResponse", (frame) => frame.requestId === 1);
    client.send(querySet(1, [{ path: "sync:total" }], 2));
    await client.next("Transition", (frame) => frame.endVersion.querySet === 2);
    expect(client.values().get(2)).toBe(0);
  });
});

test("a binary frame is refused", async () => {
  const client = await wireClient(sync.url);
  client.socket.send(Buffer.from(JSON.stringify(connect())), { binary: true });
  expect((await client.next("FatalError")).error).toContain("text frames");
});

test("more than 1,000 unanswered calls close the connection, and those that ran are answered when sent again", async () => {
  const client = await wireClient(sync.url);
  client.send(connect("many"), ...Array.from({ length: 1_500 }, (_, i) => mutation(i, "sync:nothing")));
  expect(await client.closed).toEqual({ code: 1013, reason: "TooManyConcurrentRequests" });
  const again = await wireClient(sync.url);
  again.send(connect("many"), ...Array.from({ length: 900 }, (_, i) => mutation(i, "sync:nothing")));
  await again.next("MutationResponse", (frame) => frame.requestId === 899);
});

test("conflicts without end close the connection with their code, as over HTTP they answer 503", async () => {
  await sync.close();
  let isConflicting = false;
  sync = await syncBackend({ inject: { conflict: () => isConflicting } });
  isConflicting = true;
  const client = await wireClient(sync.url);
  client.send(connect(), mutation(0, "sync:add", { owner: "a", b: 1 }));
  expect(await client.closed).toEqual({ code: 1013, reason: "OptimisticConcurrencyControlFailure" });
  const official = sync
    .client()
    .mutation(makeFunctionReference<"mutation">("sync:add"), { owner: "a", b: 2 });
  isConflicting = false;
  expect(await official).toBe(2);
});

describe("who may connect", () => {
  const upgrade = (headers: Record<string, string>, path = "/api/1.48.0/sync"): Promise<number> =>
    new Promise((resolve, reject) => {
      const request = httpRequest(sync.url + path, {
        headers: {
          connection: "Upgrade",
          upgrade: "websocket",
          "sec-websocket-version": "13",
          "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
          ...headers,
        },
      });
      request.on("response", (response) => resolve(response.statusCode!));
      request.on("upgrade", (response, socket) => {
        socket.destroy();
        resolve(response.statusCode!);
      });
      request.on("error", reject);
      request.end();
    });

  test.each<[string, Record<string, string>, number]>([
    ["no origin", {}, 101],
    ["a page of localhost", { origin: "http://localhost:3000" }, 101],
    ["a page of 127.0.0.1", { origin: "http://127.0.0.1:1" }, 101],
    ["a page of elsewhere", { origin: "https://example.com" }, 403],
    ["a page whose name only begins like it", { origin: "http://localhost.example.com" }, 403],
    ["a page with a user part", { origin: "http://localhost:1@example.com" }, 403],
    ["a page without origin", { origin: "null" }, 403],
    ["a name that somebody points here", { host: "example.com" }, 403],
    ["another name with a local origin", { host: "example.com", origin: "http://localhost:3000" }, 403],
  ])("%s", async (_name, headers, status) => {
    expect(await upgrade(headers)).toBe(status);
  });

  test.each([
    ["/api/sync", 101],
    ["//api/1.48.0/sync", 101],
    ["/api/1.48.0/sync?x=1", 101],
    ["/api/1.48.0/other/sync", 404],
    ["/sync", 404],
    ["/api/query", 404],
  ])("the path %s", async (path, status) => {
    expect(await upgrade({}, path)).toBe(status);
  });

  test("an upgrade that is no WebSocket is answered", async () => {
    expect(await upgrade({ upgrade: "h2c" })).toBe(400);
  });
});
