import { makeFunctionReference } from "convex/server";
import { afterEach, describe, expect, test } from "vitest";

import { contains, type ReadInterval } from "../../../lib/local-convex/read-set.ts";
import { seededRandom } from "../../../lib/local-convex/random.ts";
import { InvalidationIndex } from "../../../lib/local-convex/sync/invalidation-index.ts";
import { subjectOf, unsignedToken } from "../../helpers/tokens.ts";
import { syncBackend, until, type SyncBackend } from "../../helpers/sync-backend.ts";

const ofOwner = makeFunctionReference<"query">("sync:ofOwner");
const set = makeFunctionReference<"mutation">("sync:set");

let sync: SyncBackend | null = null;

afterEach(async () => {
  await sync?.close();
  sync = null;
});

const runs = (): number => sync!.backend.engine.counts.queries;

/** 200 subscriptions on one table, each to its own range, by four signed-in users. */
async function subscribeMany(): Promise<Map<string, number[]>> {
  sync = await syncBackend(
    {},
    {
      verifyToken: async (token) => ({
        kind: "ok",
        identity: { subject: subjectOf(token), issuer: "test", tokenIdentifier: `test|${subjectOf(token)}` },
        expiresAtMs: Date.now() + 3_600_000,
      }),
    },
  );
  const seen = new Map<string, number[]>();
  for (let user = 0; user < 4; user++) {
    const client = sync.client();
    client.setAuth(async () => unsignedToken(`user ${user}`));
    for (let i = 0; i < 50; i++) {
      const owner = `owner ${user} ${i}`;
      await sync.backend.mutation("sync:add", { owner, b: 0 });
      client.onUpdate(ofOwner, { owner }, (rows: number[]) => seen.set(owner, rows));
    }
  }
  await until(() => seen.size === 200 && [...seen.values()].every((rows) => rows.length === 1));
  // Confirmed tokens are refreshed once, which must have happened before runs are counted.
  await sync.client().mutation(set, { owner: "owner 0 0", b: 0 });
  return seen;
}

describe("200 subscriptions on one table", () => {
  test("a write into one of the ranges runs exactly that one again; one beside them runs none", async () => {
    const seen = await subscribeMany();
    for (const [user, i] of [
      [0, 3],
      [3, 49],
      [1, 17],
    ]) {
      const before = runs();
      await sync!.backend.mutation("sync:set", { owner: `owner ${user} ${i}`, b: 7 });
      await until(() => seen.get(`owner ${user} ${i}`)![0] === 7);
      expect(runs() - before).toBe(1);
    }
    const before = runs();
    await sync!.backend.mutation("sync:add", { owner: "nobody", b: 1 });
    await sync!.client().mutation(set, { owner: "nobody", b: 2 });
    expect(runs()).toBe(before);
  });

  test("many writes at once cost at most one run each, and every client ends with the newest rows", async () => {
    const seen = await subscribeMany();
    const before = runs();
    await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        sync!.backend.mutation("sync:set", { owner: `owner 2 ${i % 50}`, b: i }),
      ),
    );
    await until(() =>
      Array.from({ length: 50 }, (_, i) => seen.get(`owner 2 ${i}`)![0]).every((b, i) => b === 50 + i),
    );
    expect(runs() - before).toBeLessThanOrEqual(100);
  });
});

test("equal subscriptions of several connections share their runs", async () => {
  sync = await syncBackend();
  const seen: number[][] = Array.from({ length: 10 }, () => []);
  for (const rows of seen)
    sync.client().onUpdate(ofOwner, { owner: "a" }, (value: number[]) => rows.splice(0, 10, ...value, -1));
  await until(() => seen.every((rows) => rows.length === 1));
  expect(runs()).toBeLessThanOrEqual(3);
  const before = runs();
  await sync.backend.mutation("sync:add", { owner: "a", b: 5 });
  await until(() => seen.every((rows) => rows[0] === 5));
  expect(runs() - before).toBe(1);
});

test("a subscription by document id hears of its document only", async () => {
  sync = await syncBackend();
  const ids = await Promise.all(
    [0, 1].map((b) => sync!.backend.mutation<string>("faults:addNote", { text: `note ${b}` })),
  );
  const seen: unknown[] = [];
  sync
    .client()
    .onUpdate(makeFunctionReference<"query">("sync:byId"), { id: ids[0]! }, (text) => seen.push(text));
  await until(() => seen.length === 1);
  const before = runs();
  await sync.backend.mutation("sync:rename", { id: ids[1]!, text: "other" });
  await sync.backend.mutation("sync:rename", { id: ids[0]!, text: "renamed" });
  await until(() => seen.length === 2);
  expect(seen).toEqual(["note 0", "renamed"]);
  expect(runs() - before).toBe(1);
});

test("the index of readers finds what a look at every interval finds, after any changes", () => {
  const random = seededRandom(11);
  const int = (below: number): number => Math.floor(random.next() * below);
  const key = (): string => "abcdefgh"[int(8)]! + (int(2) === 0 ? "" : "\0");
  const index = new InvalidationIndex<number>();
  const readers = new Map<number, ReadInterval[]>();
  for (let step = 0; step < 5_000; step++) {
    const reader = int(20);
    if (int(4) === 0) {
      index.delete(reader);
      readers.delete(reader);
    } else {
      const intervals = Array.from({ length: int(4) }, () => {
        const lo = key();
        const hi = [lo, `${lo}\0`, null, `${lo}zz`][int(4)] as string | null;
        return { space: int(3), lo, hi };
      });
      index.set(reader, intervals);
      readers.set(reader, intervals);
    }
    const written = new Map([[int(3), [key(), key()]]]);
    const expected = [...readers].filter(([, intervals]) =>
      intervals.some((each) => written.get(each.space)?.some((written) => contains(each, written))),
    );
    expect(index.touchedBy(written)).toEqual(new Set(expected.map(([id]) => id)));
  }
});
