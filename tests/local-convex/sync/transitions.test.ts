import { makeFunctionReference } from "convex/server";
import { afterEach, expect, test } from "vitest";

import { until, syncBackend, type SyncBackend } from "../../helpers/sync-backend.ts";
import { connect, mutation, querySet, subscribed, tsOf, wireClient } from "../../helpers/sync-wire.ts";
import type { Frame, WireClient } from "../../helpers/sync-wire.ts";

let sync: SyncBackend;

afterEach(() => sync.close());

const ofOwner = (owner: string) => ({ path: "sync.js:ofOwner", args: { owner } });
const transitions = (client: WireClient): Frame[] =>
  client.received.filter((frame) => frame.type === "Transition");

function expectChain(client: WireClient): void {
  let version: unknown = { querySet: 0, identity: 0, ts: "AAAAAAAAAAA=" };
  let ts = 0n;
  for (const { startVersion, endVersion } of transitions(client)) {
    expect(startVersion).toEqual(version);
    version = endVersion;
    expect(tsOf(endVersion.ts)).toBeGreaterThanOrEqual(ts);
    ts = tsOf(endVersion.ts);
  }
}

test("trap 2: each transition starts where the last one ended, from zero, whatever happens in between", async () => {
  sync = await syncBackend();
  const client = await wireClient(sync.url);
  await subscribed(client, [ofOwner("a"), { path: "sync:total" }]);
  client.send(mutation(0, "sync:add", { owner: "a", b: 1 }));
  await client.next("Transition", (frame) => frame.modifications.length === 2);
  client.send(
    querySet(1, [{ path: "sync:whoami" }], 2),
    { type: "Authenticate", baseVersion: 0, tokenType: "None" },
    {
      type: "ModifyQuerySet",
      baseVersion: 2,
      newVersion: 3,
      modifications: [{ type: "Remove", queryId: 0 }],
    },
    mutation(1, "sync:add", { owner: "a", b: 2 }),
  );
  await client.next(
    "Transition",
    ({ endVersion }) =>
      endVersion.querySet === 3 && endVersion.identity === 1 && client.values().get(1) === 3,
  );
  expectChain(client);
  expect([...client.values()]).toEqual([
    [1, 3],
    [2, null],
  ]);
});

test("traps 1 and 20: an answered mutation is followed by a transition at or after its time, with its effects", async () => {
  sync = await syncBackend();
  const client = await wireClient(sync.url);
  await subscribed(client, [ofOwner("a")]);
  for (let i = 0; i < 30; i++) {
    client.send(mutation(2 * i, "sync:add", { owner: "a", b: i }), mutation(2 * i + 1, "sync:nothing"));
    const answer = await client.next("MutationResponse", (frame) => frame.requestId === 2 * i + 1);
    const first = client.received.find((frame) => frame.requestId === 2 * i)!;
    const from = client.received.indexOf(first);
    await until(() =>
      client.received.slice(client.received.indexOf(answer)).some((frame) => frame.type === "Transition"),
    );
    for (const [place, frame] of client.received.entries()) {
      if (frame.type !== "Transition" || tsOf(frame.endVersion.ts) < tsOf(first.ts)) continue;
      expect(place, "nothing of the mutation is shown before it is answered").toBeGreaterThan(from);
    }
  }
  expect(client.values().get(0)).toEqual(Array.from({ length: 30 }, (_, b) => b));
  expectChain(client);
});

test.each([1, 4])(
  "trap 20: results of one transition are of one snapshot (%d transactions at a time)",
  async (concurrency) => {
    let waits = 0;
    sync = await syncBackend(
      concurrency === 1 ? {} : { concurrency, inject: { syscallLatencyMs: () => ++waits % 3 } },
    );
    const client = await wireClient(sync.url);
    await subscribed(client, [ofOwner("a"), ofOwner("b"), { path: "sync:total" }]);
    let left = 60;
    const write = async (owner: string): Promise<void> => {
      while (left-- > 0) await sync.backend.mutation("sync:add", { owner, b: 1 });
    };
    await Promise.all([write("a"), write("a"), write("b")]);
    await until(() => client.values().get(2) === 60);
    const values = new Map<number, unknown>();
    for (const { modifications } of transitions(client)) {
      for (const { queryId, value } of modifications) values.set(queryId, value);
      const [a, b] = [values.get(0) as number[], values.get(1) as number[]];
      expect(a.length + b.length).toBe(values.get(2));
    }
    expectChain(client);
  },
);

test("results that did not change are left out, and nothing is sent when none did", async () => {
  sync = await syncBackend();
  const client = await wireClient(sync.url);
  await subscribed(client, [ofOwner("a"), { path: "sync:total" }]);
  await sync.backend.mutation("sync:add", { owner: "b", b: 0 });
  await sync.backend.mutation("sync:add", { owner: "b", b: 5 });
  await client.next("Transition");
  const [, last] = transitions(client);
  expect(transitions(client)).toHaveLength(2);
  expect(last!.modifications).toEqual([
    { type: "QueryUpdated", queryId: 1, value: 5, logLines: [], journal: null },
  ]);
});

test("trap 6: optional fields are left out, logs are lists, errors carry data only when thrown with data", async () => {
  sync = await syncBackend();
  const client = await wireClient(sync.url);
  const first = await subscribed(client, [
    { path: "sync:atMost", args: { owner: "a", max: -1 } },
    { path: "sync:missing" },
    { path: "sync:atMost", args: { owner: "a", max: 1 } },
  ]);
  expect(Object.keys(first).toSorted()).toEqual(["endVersion", "modifications", "startVersion", "type"]);
  const [withData, plain, value] = first.modifications;
  expect(withData).toEqual({
    type: "QueryFailed",
    queryId: 0,
    errorMessage: expect.stringMatching(/^\[Request ID: \w{16}\] Server Error\nUncaught ConvexError: /),
    errorData: { rows: { $integer: "AAAAAAAAAAA=" } },
    logLines: ["[LOG] 'rows' 0"],
    journal: null,
  });
  expect(plain).not.toHaveProperty("errorData");
  expect(plain!.logLines).toEqual([]);
  expect(value).toMatchObject({ value: 0, logLines: ["[LOG] 'rows' 0"] });
  client.send(mutation(0, "sync:add", { owner: "a", b: 1 }), mutation(1, "sync:missing"), {
    ...mutation(2, "sync:double", { b: 3 }),
    type: "Action",
  });
  expect(await client.next("MutationResponse")).toEqual({
    type: "MutationResponse",
    requestId: 0,
    success: true,
    result: 1,
    ts: expect.stringMatching(/^[\w+/]{11}=$/),
    logLines: ["[LOG] 'adding' 1"],
  });
  const failed = await client.next("MutationResponse");
  expect(Object.keys(failed).toSorted()).toEqual(["logLines", "requestId", "result", "success", "type"]);
  expect(await client.next("ActionResponse")).toEqual({
    type: "ActionResponse",
    requestId: 2,
    success: true,
    result: 6,
    logLines: ["[LOG] 'doubling'", "[LOG] 'adding' 6"],
  });
});

test("a transition above 5 MB arrives in pieces that the official client puts together", async () => {
  sync = await syncBackend();
  const chars = 6 * 1024 * 1024;
  const client = await wireClient(sync.url);
  client.send(connect(), querySet(0, [{ path: "sync:large", args: { chars } }]));
  const first = await client.next("TransitionChunk", (frame) => frame.partNumber === 0);
  await client.next("TransitionChunk", (frame) => frame.partNumber === first.totalParts - 1);
  const pieces = client.received.filter((frame) => frame.type === "TransitionChunk");
  expect(pieces.map((piece) => piece.partNumber)).toEqual([0, 1]);
  const whole = JSON.parse(pieces.map((piece) => piece.chunk).join("")) as Frame;
  expect(whole.modifications[0]!.value).toHaveLength(chars);
  const large = await sync.client().query(makeFunctionReference<"query">("sync:large"), { chars });
  expect(large === `${"x".repeat(61)}"😀`.repeat(chars / 64)).toBe(true);
});

test("a client that does not read gets few transitions, and the newest state when it reads again", async () => {
  sync = await syncBackend();
  const client = await wireClient(sync.url);
  await sync.backend.mutation("sync:add", { owner: "a", b: 0, text: "x".repeat(900_000) });
  await subscribed(client, [{ path: "sync:rows" }]);
  client.socket.pause();
  for (let b = 1; b <= 60; b++) await sync.backend.mutation("sync:set", { owner: "a", b });
  client.socket.resume();
  await until(() => (client.values().get(0) as { b: number }[])[0]!.b === 60);
  expect(transitions(client).length).toBeLessThan(40);
  expectChain(client);
});

test("a query removed before its answer does not hold up the others", async () => {
  sync = await syncBackend();
  const client = await wireClient(sync.url);
  client.send(connect(), querySet(0, [ofOwner("a"), ofOwner("b")]), {
    type: "ModifyQuerySet",
    baseVersion: 1,
    newVersion: 2,
    modifications: [{ type: "Remove", queryId: 0 }],
  });
  await client.next("Transition", (frame) => frame.endVersion.querySet === 2);
  expect([...client.values().keys()]).toEqual([1]);
});

test("changed functions run all subscriptions again, and the new runs are live", async () => {
  sync = await syncBackend();
  const client = await wireClient(sync.url);
  await subscribed(client, [ofOwner("a"), { path: "sync:total" }]);
  const before = sync.backend.engine.counts.queries;
  await sync.backend.engine.reload();
  await until(() => sync.backend.engine.counts.queries === before + 2);
  await sync.backend.mutation("sync:add", { owner: "a", b: 7 });
  await until(() => client.values().get(1) === 7);
  expect(client.values().get(0)).toEqual([7]);
  expectChain(client);
});
