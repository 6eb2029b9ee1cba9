import { ConvexReactClient } from "convex/react";
import { makeFunctionReference } from "convex/server";
import { ConvexError } from "convex/values";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";

import { syncBackend, until, type SyncBackend } from "../../helpers/sync-backend.ts";
import { tap } from "../../helpers/sync-wire.ts";

const q = (name: string) => makeFunctionReference<"query">(`sync:${name}`);
const m = (name: string) => makeFunctionReference<"mutation">(`sync:${name}`);
const double = makeFunctionReference<"action">("sync:double");

let sync: SyncBackend;

beforeEach(async () => {
  sync = await syncBackend();
});

afterEach(() => sync.close());

describe("ConvexClient", () => {
  test("a query is live: it answers at once, and again after each mutation that concerns it", async () => {
    const seen: number[][] = [];
    const client = sync.client();
    client.onUpdate(q("ofOwner"), { owner: "a" }, (rows: number[]) => seen.push(rows));
    await until(() => seen.length === 1);
    await client.mutation(m("add"), { owner: "a", b: 1 });
    await client.mutation(m("add"), { owner: "other", b: 9 });
    await client.mutation(m("add"), { owner: "a", b: 2 });
    expect(seen).toEqual([[], [1], [1, 2]]);
  });

  test("what others write arrives too: another client, a direct call", async () => {
    const totals: number[] = [];
    sync.client().onUpdate(q("total"), {}, (value: number) => totals.push(value));
    await until(() => totals.length === 1);
    await sync.client().mutation(m("add"), { owner: "a", b: 1 });
    await until(() => totals.length === 2);
    await sync.backend.mutation("sync:add", { owner: "a", b: 10 });
    await until(() => totals.length === 3);
    expect(totals).toEqual([0, 1, 11]);
  });

  test("trap 1: a mutation resolves although the client subscribes to nothing, and one that writes nothing too", async () => {
    const client = sync.client();
    expect(await client.mutation(m("add"), { owner: "a", b: 1 })).toBe(1);
    expect(await client.mutation(m("nothing"), {})).toBe("nothing");
  });

  test("a mutation that resolved is visible in the client's own queries", async () => {
    const client = sync.client();
    let rows: number[] = [];
    client.onUpdate(q("ofOwner"), { owner: "a" }, (value: number[]) => (rows = value));
    for (let b = 0; b < 20; b++) {
      await client.mutation(m("add"), { owner: "a", b });
      expect(rows.at(-1)).toBe(b);
    }
  });

  test("mutations of one client run in the order they were called", async () => {
    const client = sync.client();
    const order = Array.from({ length: 50 }, (_, b) => b);
    await Promise.all(order.map((b) => client.mutation(m("add"), { owner: "a", b })));
    expect(await client.query(q("ofOwner"), { owner: "a" })).toEqual(order);
  });

  test("a failing mutation rejects with its data, leaves nothing behind and the next one runs", async () => {
    const client = sync.client();
    const failed = await client.mutation(m("fail"), {}).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(ConvexError);
    expect((failed as ConvexError<{ code: string; units: bigint }>).data).toEqual({
      code: "refused",
      units: 5n,
    });
    expect((failed as Error).message).toMatch(
      /^\[CONVEX M\(sync:fail\)\] \[Request ID: \w+\] Server Error\nUncaught ConvexError: .*\n {4}at handler/,
    );
    await expect(client.mutation(m("add"), { owner: 5 })).rejects.toThrow(
      /Server Error\nArgumentValidationError: /,
    );
    await expect(client.mutation(m("missing"), {})).rejects.toThrow(
      "Could not find public function for 'sync:missing'.",
    );
    await client.mutation(m("add"), { owner: "a", b: 3 });
    expect(await client.query(q("total"), {})).toBe(3);
  });

  test("actions answer with their value or their failure, also while mutations wait", async () => {
    const client = sync.client();
    const [doubled, failed] = await Promise.all([
      client.action(double, { b: 4 }),
      client.action(double, { b: -1 }).catch((error: unknown) => error),
    ]);
    expect(doubled).toBe(8);
    expect((failed as ConvexError<string>).data).toBe("negative");
    expect(await client.query(q("total"), {})).toBe(8);
  });

  test("a query that starts to fail reports its error with data, and recovers", async () => {
    const client = sync.client();
    const seen: unknown[] = [];
    client.onUpdate(
      q("atMost"),
      { owner: "a", max: 1 },
      (value: number) => seen.push(value),
      (error) => seen.push(error instanceof ConvexError ? error.data : error),
    );
    await until(() => seen.length === 1);
    await client.mutation(m("add"), { owner: "a", b: 1 });
    await client.mutation(m("add"), { owner: "a", b: 2 });
    await until(() => seen.length === 3);
    await client.mutation(m("remove"), { owner: "a", b: 2 });
    await until(() => seen.length === 4);
    expect(seen).toEqual([0, 1, { rows: 2n }, 1]);
  });

  test("unsubscribing ends the work for a query", async () => {
    const client = sync.client();
    const seen: number[] = [];
    const unsubscribe = client.onUpdate(q("total"), {}, (value: number) => seen.push(value));
    await until(() => seen.length === 1);
    unsubscribe();
    await client.mutation(m("nothing"), {});
    const before = sync.backend.engine.counts.queries;
    await client.mutation(m("add"), { owner: "a", b: 1 });
    expect(sync.backend.engine.counts.queries).toBe(before);
    expect(seen).toEqual([0]);
  });

  test("an optimistic update is replaced by its mutation's effect without ever showing both", async () => {
    const client = sync.client();
    const seen: number[][] = [];
    client.onUpdate(q("ofOwner"), { owner: "a" }, (rows: number[]) => seen.push(rows));
    await until(() => seen.length === 1);
    const add = (b: number) =>
      client.mutation(
        m("add"),
        { owner: "a", b },
        {
          optimisticUpdate(store) {
            const rows = store.getQuery(q("ofOwner"), { owner: "a" }) as number[];
            store.setQuery(q("ofOwner"), { owner: "a" }, [...rows, b]);
          },
        },
      );
    for (let from = 0; from < 60; from += 3) await Promise.all([add(from), add(from + 1), add(from + 2)]);
    for (const [i, rows] of seen.entries()) {
      expect(rows).toEqual(Array.from({ length: rows.length }, (_, b) => b));
      expect(rows.length).toBeGreaterThanOrEqual(seen[i - 1]?.length ?? 0);
    }
    expect(seen.at(-1)).toHaveLength(60);
  });

  test("trap 5: a client that waits for its sign-in first may never send Connect", async () => {
    const watched = tap();
    const client = sync.client({ expectAuth: true, webSocketConstructor: watched.webSocketConstructor });
    client.setAuth(async () => null);
    expect(await client.mutation(m("add"), { owner: "a", b: 1 })).toBe(1);
    expect(await client.query(q("total"), {})).toBe(1);
  });
});

test("ConvexReactClient: watchQuery follows mutations, its own and others'", async () => {
  const client = new ConvexReactClient(sync.url, {
    webSocketConstructor: WebSocket as never,
    logger: false,
    unsavedChangesWarning: false,
  });
  try {
    const watch = client.watchQuery(q("ofOwner"), { owner: "a" });
    let updates = 0;
    watch.onUpdate(() => updates++);
    await until(() => updates === 1);
    expect(watch.localQueryResult()).toEqual([]);
    await client.mutation(m("add"), { owner: "a", b: 1 });
    expect(watch.localQueryResult()).toEqual([1]);
    await sync.backend.mutation("sync:add", { owner: "a", b: 2 });
    await until(() => updates === 3);
    expect(watch.localQueryResult()).toEqual([1, 2]);
  } finally {
    await client.close();
  }
});
