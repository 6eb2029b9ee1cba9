import type { ConvexClient } from "convex/browser";
import { ConvexReactClient } from "convex/react";
import { makeFunctionReference } from "convex/server";
import { afterEach, beforeEach, expect, test } from "vitest";

import { seededRandom } from "../../../lib/local-convex/random.ts";
import { syncBackend, until, type SyncBackend } from "../../helpers/sync-backend.ts";
import { connect, querySet, subscribed, tap, wireClient } from "../../helpers/sync-wire.ts";

const sorted = makeFunctionReference<"query">("sync:sorted");

let sync: SyncBackend;

beforeEach(async () => {
  sync = await syncBackend();
  for (let b = 0; b < 100; b += 10) await add(b);
});

afterEach(() => sync.close());

const add = (b: number) => sync.backend.mutation("sync:add", { owner: "a", b });

/** The arguments usePaginatedQuery gives a page. */
const page = (cursor: string | null, numItems = 3) => ({
  path: "sync.js:sorted",
  args: { paginationOpts: { numItems, cursor, id: 1 } },
});

interface Page {
  page: number[];
  isDone: boolean;
  continueCursor: string;
}

test("trap 8: a live page keeps its end, so rows put between pages are in exactly one of them", async () => {
  const client = await wireClient(sync.url);
  await subscribed(client, [page(null)]);
  const value = (queryId: number) => client.values().get(queryId) as Page;
  for (let id = 1; id < 4; id++) {
    client.send(querySet(id, [page(value(id - 1).continueCursor)], id));
    await client.next("Transition", (frame) => frame.endVersion.querySet === id + 1);
  }
  expect([0, 1, 2, 3].map((id) => value(id).page)).toEqual([[0, 10, 20], [30, 40, 50], [60, 70, 80], [90]]);
  for (const b of [25, 15, 5, 55, 21, 85, 95, 200, -1]) await add(b);
  await until(() => value(3).page.length === 4 && value(0).page.length === 6);
  expect([0, 1, 2, 3].map((id) => value(id).page)).toEqual([
    [-1, 0, 5, 10, 15, 20],
    [21, 25, 30, 40, 50],
    [55, 60, 70, 80],
    [85, 90, 95, 200],
  ]);
  expect(value(3).isDone).toBe(true);
});

test("a page that is empty at first grows when rows come", async () => {
  const client = await wireClient(sync.url);
  await subscribed(client, [page(null, 10)]);
  const { continueCursor, isDone } = client.values().get(0) as Page;
  expect(isDone, "an exactly full page does not know that it is the last").toBe(false);
  client.send(querySet(1, [page(continueCursor, 10)], 1));
  await client.next("Transition");
  expect(client.values().get(1)).toMatchObject({ page: [], isDone: true });
  await add(300);
  await until(() => (client.values().get(1) as Page).page.length === 1);
  expect(client.values().get(0)).toMatchObject({ page: [0, 10, 20, 30, 40, 50, 60, 70, 80, 90] });
});

test("the journal outlives the connection: a client that comes back gets pages with the same ends", async () => {
  const first = await wireClient(sync.url);
  const { modifications } = await subscribed(first, [page(null)]);
  const { journal, value } = modifications[0]!;
  expect(journal).toEqual(expect.any(String));
  first.socket.terminate();
  await add(5);
  const again = await wireClient(sync.url);
  await subscribed(again, [{ ...page(null), journal }, page((value as Page).continueCursor), page(null)]);
  expect(again.values().get(0)).toMatchObject({ page: [0, 5, 10, 20] });
  expect(again.values().get(1)).toMatchObject({ page: [30, 40, 50] });
  expect(again.values().get(2), "without its journal a page begins anew").toMatchObject({ page: [0, 5, 10] });
});

test("the first page of a newcomer is not another client's page that has grown", async () => {
  const old = await wireClient(sync.url);
  await subscribed(old, [page(null)]);
  await add(5);
  await until(() => (old.values().get(0) as Page).page.length === 4);
  const fresh = await wireClient(sync.url);
  await subscribed(fresh, [page(null)]);
  expect(fresh.values().get(0)).toMatchObject({ page: [0, 5, 10] });
});

test("a journal of another query is an InvalidCursor, by which clients start over", async () => {
  const client = await wireClient(sync.url);
  const owned = { path: "sync:page", args: { owner: "a", paginationOpts: { numItems: 2, cursor: null } } };
  const { modifications } = await subscribed(client, [owned]);
  client.send(querySet(1, [{ ...page(null), journal: modifications[0]!.journal }], 1));
  const failed = await client.next("Transition");
  expect(failed.modifications[0]).toMatchObject({
    type: "QueryFailed",
    errorData: { isConvexSystemError: true, paginationError: "InvalidCursor" },
  });
});

test("queries without pages, and pages that their caller ends, have no journal", async () => {
  const client = await wireClient(sync.url);
  client.send(connect(), querySet(0, [{ path: "sync:total" }, page(null)]));
  const { modifications } = await client.next("Transition");
  const [total, open] = modifications;
  expect(total!.journal).toBeNull();
  const ended = {
    ...page(null),
    args: { paginationOpts: { numItems: 3, cursor: null, endCursor: (open!.value as Page).continueCursor } },
  };
  client.send(querySet(1, [ended], 2));
  expect((await client.next("Transition")).modifications[0]).toMatchObject({
    journal: null,
    value: { page: [0, 10, 20] },
  });
});

/** Rows of all loaded pages, as usePaginatedQuery shows them. */
function paginated(client: ConvexClient, initialNumItems: number) {
  const state: { results: number[]; status: string; loadMore: (n: number) => unknown } = {
    results: [],
    status: "",
    loadMore: () => undefined,
  };
  client.onPaginatedUpdate_experimental(sorted as never, {} as never, { initialNumItems }, ((
    value: typeof state,
  ) => Object.assign(state, value)) as never);
  return state;
}

test("the official paginated client shows every row once, in order, through inserts, removals, splits and reconnects", async () => {
  const watched = tap();
  const client = sync.client({ webSocketConstructor: watched.webSocketConstructor });
  const shown = paginated(client, 3);
  await until(() => shown.status === "CanLoadMore");
  const random = seededRandom(3);
  const stored = new Set(Array.from({ length: 10 }, (_, i) => i * 10));
  const expected = () => [...stored].toSorted((x, y) => x - y);
  for (let round = 0; round < 12; round++) {
    for (let i = 0; i < 6; i++) {
      const b = random.next() * 100;
      if (random.next() < 0.7) {
        await add(b);
        stored.add(b);
      } else {
        const gone = expected()[Math.floor(random.next() * stored.size)]!;
        await sync.backend.mutation("sync:remove", { owner: "a", b: gone });
        stored.delete(gone);
      }
    }
    if (round % 4 === 3) watched.sockets.at(-1)!.terminate();
    if (shown.status === "CanLoadMore") shown.loadMore(3);
    await until(() => {
      const rows = expected().slice(0, shown.results.length);
      return shown.results.length > 0 && JSON.stringify(rows) === JSON.stringify(shown.results);
    });
  }
  await until(() => {
    if (shown.status === "CanLoadMore") shown.loadMore(50);
    return shown.status === "Exhausted" && shown.results.length === stored.size;
  });
  expect(shown.results).toEqual(expected());
});

test("ConvexReactClient sends the journal of a page back after a lost connection", async () => {
  const watched = tap();
  const client = new ConvexReactClient(sync.url, {
    webSocketConstructor: watched.webSocketConstructor,
    logger: false,
    unsavedChangesWarning: false,
  });
  try {
    const watch = client.watchQuery(sorted, {
      paginationOpts: { numItems: 3, cursor: null, id: 1 },
    } as never);
    watch.onUpdate(() => undefined);
    const rows = () => (watch.localQueryResult() as Page | undefined)?.page;
    await until(() => rows() !== undefined);
    watched.sockets[0]!.terminate();
    await add(5);
    await until(() => rows()?.length === 4);
    expect(rows()).toEqual([0, 5, 10, 20]);
    const [, added] = watched.sent.filter((frame) => frame.type === "ModifyQuerySet");
    expect(added!.modifications[0]!.journal).toEqual(expect.any(String));
  } finally {
    await client.close();
  }
});
