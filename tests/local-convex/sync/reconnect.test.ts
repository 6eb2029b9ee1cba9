import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { makeFunctionReference } from "convex/server";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { startEngineProcess } from "../../helpers/engine-process.ts";
import { newClient, syncBackend, until, type SyncBackend } from "../../helpers/sync-backend.ts";
import { connect, mutation, querySet, subscribed, tap, tsOf, wireClient } from "../../helpers/sync-wire.ts";

const FUNCTIONS = join(import.meta.dirname, "..", "functions");
const DAY_MS = 24 * 3_600_000;
const ofOwner = makeFunctionReference<"query">("sync:ofOwner");
const add = makeFunctionReference<"mutation">("sync:add");
const double = makeFunctionReference<"action">("sync:double");

let folder: string;
let dataFile: string;
let sync: SyncBackend | null;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "reconnect-"));
  dataFile = join(folder, "data.sqlite");
  sync = await syncBackend({ dataFile });
});

afterEach(async () => {
  await sync?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Ends the engine and starts it on the same file and port; clients of the test's own live on. */
async function restart(): Promise<void> {
  const { url, backend } = sync!;
  const startMs = backend.nowMs() + 1_000;
  await sync!.close();
  sync = await syncBackend({ dataFile, startMs }, { port: Number(new URL(url).port) });
}

const records = () =>
  sync!.backend.readAll<{ _id: string; _creationTime: number; text: string }>("_mutation_records");

describe("trap 4: a mutation happens once", () => {
  test("the connection is lost between commit and answer: the client repeats it, one row, the promise resolves", async () => {
    const watched = tap();
    const client = sync!.client({ webSocketConstructor: watched.webSocketConstructor });
    let rows: number[] = [];
    client.onUpdate(ofOwner, { owner: "a" }, (value: number[]) => (rows = value));
    watched.dropBefore((frame) => frame.type === "MutationResponse");
    expect(await client.mutation(add, { owner: "a", b: 1 })).toBe(1);
    expect(watched.sent.filter((frame) => frame.type === "Mutation")).toHaveLength(2);
    expect(watched.sockets).toHaveLength(2);
    expect(rows).toEqual([1]);
    expect(await client.query(ofOwner, { owner: "a" })).toEqual([1]);
  });

  test("the connection is lost between answer and transition: the promise resolves, one row", async () => {
    const watched = tap();
    const client = sync!.client({ webSocketConstructor: watched.webSocketConstructor });
    await client.query(ofOwner, { owner: "a" });
    let isAnswered = false;
    watched.dropBefore((frame) => {
      if (frame.type === "MutationResponse") isAnswered = true;
      return isAnswered && frame.type === "Transition";
    });
    expect(await client.mutation(add, { owner: "a", b: 1 })).toBe(1);
    expect(watched.sockets).toHaveLength(2);
    expect(await client.query(ofOwner, { owner: "a" })).toEqual([1]);
  });

  test("the engine is restarted in between: the repeat is answered from the record", async () => {
    const first = await wireClient(sync!.url);
    first.send(connect("one session"), mutation(0, "sync:add", { owner: "a", b: 1 }));
    const answer = await first.next("MutationResponse");
    await restart();
    const again = await wireClient(sync!.url);
    again.send(connect("one session", { maxObservedTimestamp: answer.ts }), querySet(0, []));
    again.send(mutation(0, "sync:add", { owner: "a", b: 1 }), mutation(1, "sync:add", { owner: "a", b: 2 }));
    const repeated = await again.next("MutationResponse");
    expect({ ...repeated, ts: "" }).toEqual({ ...answer, ts: "" });
    expect(repeated.logLines).toEqual(["[LOG] 'adding' 1"]);
    expect(tsOf(repeated.ts)).toBeGreaterThanOrEqual(tsOf(answer.ts));
    await again.next("Transition", (frame) => tsOf(frame.endVersion.ts) >= tsOf(repeated.ts));
    await again.next("MutationResponse");
    expect(await sync!.backend.query("sync:ofOwner", { owner: "a" })).toEqual([1, 2]);
  });

  test("two connections of a session repeat it at the same time: one row", async () => {
    await sync!.close();
    sync = await syncBackend({ dataFile, concurrency: 4, inject: { syscallLatencyMs: () => 5 } });
    const clients = await Promise.all([1, 2, 3].map(() => wireClient(sync!.url)));
    for (const client of clients)
      client.send(connect("shared"), mutation(7, "sync:add", { owner: "a", b: 1 }));
    const answers = await Promise.all(clients.map((client) => client.next("MutationResponse")));
    expect(answers.map((answer) => answer.result)).toEqual([1, 1, 1]);
    expect(await sync.backend.query("sync:ofOwner", { owner: "a" })).toEqual([1]);
  });

  test("other sessions, other requests and failures are not repeats", async () => {
    const client = await wireClient(sync!.url);
    client.send(
      connect("s1"),
      mutation(0, "sync:add", { owner: "a", b: 1 }),
      mutation(1, "sync:set", { owner: "b", b: 3 }),
    );
    await client.next("MutationResponse", (frame) => frame.requestId === 1);
    const other = await wireClient(sync!.url);
    other.send(connect("s2"), mutation(0, "sync:add", { owner: "b", b: 2 }));
    await other.next("MutationResponse");
    client.socket.terminate();
    const again = await wireClient(sync!.url);
    again.send(connect("s1"), mutation(1, "sync:set", { owner: "b", b: 3 }));
    expect(await again.next("MutationResponse"), "it failed the first time").toMatchObject({ success: true });
    expect(await sync!.backend.query("sync:ofOwner", { owner: "b" })).toEqual([3]);
  });

  test("without a session nothing can be recognised, and nothing is recorded", async () => {
    const client = await wireClient(sync!.url);
    client.send(mutation(0, "sync:add", { owner: "a", b: 1 }));
    await client.next("MutationResponse");
    expect(await records()).toEqual([]);
  });

  test("results larger than a document are recorded too", async () => {
    const first = await wireClient(sync!.url);
    const text = 'a"😀é\n'.repeat(400_000);
    first.send(connect("large"), mutation(0, "sync:echo", { text }));
    expect((await first.next("MutationResponse")).result === text).toBe(true);
    first.socket.terminate();
    const again = await wireClient(sync!.url);
    again.send(connect("large"), mutation(0, "sync:echo", { text }));
    expect((await again.next("MutationResponse")).result === text).toBe(true);
    expect((await records()).length).toBeGreaterThan(1);
  });

  test("a record does not count against the limits of its mutation", async () => {
    const client = sync!.client();
    const before = await client.mutation(makeFunctionReference<"mutation">("sync:metrics"), {});
    expect(before).toMatchObject({ documentsRead: { used: 0 }, databaseQueries: { used: 0 } });
    await client.mutation(makeFunctionReference<"mutation">("sync:fill"), { count: 16_000 });
    await expect(
      client.mutation(makeFunctionReference<"mutation">("sync:fill"), { count: 16_001 }),
    ).rejects.toThrow("Too many writes");
  });

  test("records are kept for 14 days, then removed", async () => {
    const client = await wireClient(sync!.url);
    client.send(connect("old"), ...Array.from({ length: 900 }, (_, i) => mutation(i, "sync:nothing")));
    await client.next("MutationResponse", (frame) => frame.requestId === 899);
    await sync!.backend.advanceMs(14 * DAY_MS - 3_600_000);
    await sync!.backend.engine.settled();
    expect(await records()).toHaveLength(900);
    await sync!.backend.advanceMs(2 * 3_600_000);
    await until(async () => (await records()).length === 0);
  });
});

describe("after a lost connection", () => {
  test("the official client subscribes again and catches up with what it missed", async () => {
    const watched = tap();
    const client = sync!.client({ webSocketConstructor: watched.webSocketConstructor });
    const seen: number[][] = [];
    client.onUpdate(ofOwner, { owner: "a" }, (rows: number[]) => seen.push(rows));
    await until(() => seen.length === 1);
    watched.sockets[0]!.terminate();
    await sync!.backend.mutation("sync:add", { owner: "a", b: 1 });
    await until(() => seen.length === 2);
    expect(seen).toEqual([[], [1]]);
    expect(watched.sent.filter((frame) => frame.type === "Connect")).toMatchObject([
      { connectionCount: 0 },
      { connectionCount: 1, maxObservedTimestamp: expect.any(String) },
    ]);
  });

  test("an action that was under way fails, a mutation that was waiting runs", async () => {
    const watched = tap();
    const client = sync!.client({ webSocketConstructor: watched.webSocketConstructor });
    watched.dropBefore((frame) => frame.type === "ActionResponse");
    const [action, ...rows] = await Promise.allSettled([
      client.action(double, { b: 1 }),
      ...[1, 2, 3].map((b) => client.mutation(add, { owner: "a", b })),
    ]);
    expect(action).toMatchObject({ status: "rejected" });
    expect(rows.map((row) => row.status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    expect(await client.query(ofOwner, { owner: "a" })).toEqual([1, 2, 3]);
  });

  test("a connection lost again and again: every mutation once, in order, and the newest rows on the screen", async () => {
    const watched = tap();
    const client = sync!.client({ webSocketConstructor: watched.webSocketConstructor });
    let shown: number[] = [];
    client.onUpdate(ofOwner, { owner: "a" }, (rows: number[]) => (shown = rows));
    let heard = 0;
    watched.dropBefore(null);
    const lose = (): void => watched.dropBefore(() => ++heard % 7 === 0 && (setImmediate(lose), true));
    lose();
    const calls = Array.from({ length: 40 }, (_, b) => client.mutation(add, { owner: "a", b }));
    await until(() => watched.sockets.length > 3);
    watched.dropBefore(null);
    await Promise.all(calls);
    await until(() => shown.length === 40);
    expect(shown).toEqual(Array.from({ length: 40 }, (_, b) => b));
  });
});

describe("trap 3: timestamps", () => {
  test("they go on over a restart, and clients go on with them", async () => {
    const client = newClient(sync!.url);
    try {
      const seen: number[][] = [];
      client.onUpdate(ofOwner, { owner: "a" }, (rows: number[]) => seen.push(rows));
      await client.mutation(add, { owner: "a", b: 1 });
      await restart();
      await client.mutation(add, { owner: "a", b: 2 });
      await until(() => seen.at(-1)?.length === 2);
      expect(seen.at(-1)).toEqual([1, 2]);
    } finally {
      await client.close();
    }
  });

  test("a client that has seen a later time than ours is sent away as after a fault of the server", async () => {
    const ahead = Buffer.alloc(8);
    ahead.writeBigUInt64LE(BigInt(sync!.backend.nowMs() + 1_000) * 1_000_000n);
    const client = await wireClient(sync!.url);
    client.send(connect("ahead", { maxObservedTimestamp: ahead.toString("base64") }));
    expect(await client.closed).toEqual({ code: 1011, reason: "InternalServerError" });
  });

  test("a database that was wiped is taken for a later state, not for an earlier one", async () => {
    const client = await wireClient(sync!.url);
    client.send(connect("wiped"), mutation(0, "sync:add", { owner: "a", b: 1 }));
    const { ts } = await client.next("MutationResponse");
    const { url } = sync!;
    await sync!.close();
    dataFile = join(folder, "fresh.sqlite");
    sync = await syncBackend(
      { dataFile, startMs: Date.UTC(2026, 9, 10, 13) },
      { port: Number(new URL(url).port) },
    );
    const again = await wireClient(sync.url);
    await subscribed(again, [{ path: "sync:total" }], "wiped");
    again.socket.close();
    const observed = await wireClient(sync.url);
    observed.send(connect("wiped", { maxObservedTimestamp: ts }), querySet(0, [{ path: "sync:total" }]));
    await observed.next("Transition");
    expect(observed.values().get(0)).toBe(0);
  });
});

test("SIGKILL at random while clients write: every resolved mutation is there, every mutation at most once", async () => {
  await sync!.close();
  sync = null;
  const file = join(folder, "killed.sqlite");
  let engine = await startEngineProcess({ "data-file": file, functions: FUNCTIONS });
  const { url } = engine;
  const port = new URL(url).port;
  const clients = [0, 1, 2].map(() => newClient(url));
  try {
    const resolved: string[] = [];
    const run = { isOver: false };
    const workers = clients.map(async (client, i) => {
      for (let n = 0; !run.isOver; n++) {
        await client.mutation(add, { owner: `client ${i}`, b: n });
        resolved.push(`client ${i}:${n}`);
      }
    });
    for (let round = 0; round < 3; round++) {
      const wanted = resolved.length + 20;
      await until(() => resolved.length >= wanted);
      await engine.kill();
      engine = await startEngineProcess({ "data-file": file, functions: FUNCTIONS, port });
    }
    run.isOver = true;
    await Promise.all(workers);
    for (const [i, client] of clients.entries()) {
      const rows = (await client.query(ofOwner, { owner: `client ${i}` })) as number[];
      expect(rows).toEqual(Array.from({ length: rows.length }, (_, n) => n));
      expect(rows).toHaveLength(resolved.filter((name) => name.startsWith(`client ${i}:`)).length);
    }
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await engine.kill();
  }
}, 120_000);
