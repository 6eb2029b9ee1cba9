import { beforeEach, describe, expect, test } from "vitest";
import type { LogEvent } from "../../../lib/server/deps.ts";
import { BoundedMap } from "../../../lib/server/redirect/bounded-map.ts";
import {
  createLinkCache,
  FRESH_MS,
  LinksUnavailableError,
  STALE_MS,
  type LinkCacheOptions,
} from "../../../lib/server/redirect/link-cache.ts";
import type { ResolvedLink } from "../../../lib/server/redirect/link.ts";
import { makeLink, ManualTime } from "./helpers.ts";

let time = new ManualTime();
let reads: string[] = [];
let logged: LogEvent[] = [];
let answer: (code: string) => ResolvedLink | null | Promise<ResolvedLink | null>;
beforeEach(() => {
  time = new ManualTime();
  reads = [];
  logged = [];
  answer = (code) => makeLink({ linkId: code });
});

function makeCache(changes: Partial<LinkCacheOptions> = {}) {
  return createLinkCache({
    read: async (code) => {
      reads.push(code);
      return await answer(code);
    },
    nowMs: time.nowMs,
    elapsedMs: time.nowMs,
    after: time.after,
    log: (event) => void logged.push(event),
    ...changes,
  });
}

const down = () => {
  throw new Error("connection refused");
};

describe("a link that is known", () => {
  test("is not read again while it is fresh", async () => {
    const cache = makeCache();
    await cache.resolve("abc");
    await time.pass(FRESH_MS - 1);
    expect(await cache.resolve("abc")).toEqual(makeLink({ linkId: "abc" }));
    expect(reads).toEqual(["abc"]);
  });

  test("shows a change after the stated staleness at the latest", async () => {
    const cache = makeCache();
    await cache.resolve("abc");
    answer = () => makeLink({ isActive: false });
    await time.pass(FRESH_MS);
    expect(await cache.resolve("abc")).toMatchObject({ isActive: false });
  });

  test("ages from when its read was sent, not from when it was answered", async () => {
    const cache = makeCache();
    let reply: (link: ResolvedLink) => void = () => undefined;
    answer = () => new Promise((resolve) => void (reply = resolve));
    const first = cache.resolve("abc");
    await time.pass(FRESH_MS);
    reply(makeLink());
    await first;
    answer = () => makeLink({ isActive: false });
    expect(await cache.resolve("abc")).toMatchObject({ isActive: false });
  });

  test("serves for ten minutes while Convex is down, and not a moment longer", async () => {
    const cache = makeCache();
    await cache.resolve("abc");
    answer = down;
    await time.pass(STALE_MS - 1);
    expect(await cache.resolve("abc")).toMatchObject({ linkId: "abc" });
    await time.pass(1);
    await expect(cache.resolve("abc")).rejects.toThrow(LinksUnavailableError);
  });

  test("is asked for at most once a second while Convex is down", async () => {
    const cache = makeCache();
    await cache.resolve("abc");
    answer = down;
    await time.pass(FRESH_MS);
    for (let call = 0; call < 100; call += 1) await cache.resolve("abc");
    expect(reads).toHaveLength(2);
    await time.pass(1_000);
    await cache.resolve("abc");
    expect(reads).toHaveLength(3);
    expect(logged.map(({ event }) => event)).toEqual(["links_unreachable", "links_unreachable"]);
  });

  test("serves when a read takes longer than half a second", async () => {
    const cache = makeCache();
    await cache.resolve("abc");
    answer = () => new Promise(() => undefined);
    await time.pass(FRESH_MS);
    const waiting = cache.resolve("abc");
    await time.pass(500);
    expect(await waiting).toMatchObject({ linkId: "abc" });
  });

  test("is read again when the clock was set back", async () => {
    let nowMs = 1_000_000;
    const cache = makeCache({ nowMs: () => nowMs });
    await cache.resolve("abc");
    nowMs -= 60_000;
    await cache.resolve("abc");
    expect(reads).toHaveLength(2);
  });

  test("is read again once it is forgotten, and a read that was on its way then is not kept", async () => {
    const cache = makeCache();
    const replies: ((link: ResolvedLink) => void)[] = [];
    answer = () => new Promise((resolve) => void replies.push(resolve));
    const old = cache.resolve("abc");
    await time.pass(0);
    cache.forget("abc");
    const current = cache.resolve("abc");
    await time.pass(0);
    replies[1]?.(makeLink({ location: "https://new.example/" }));
    replies[0]?.(makeLink({ location: "https://old.example/" }));
    await Promise.all([old, current]);
    expect(await cache.resolve("abc")).toMatchObject({ location: "https://new.example/" });
    expect(reads).toHaveLength(2);
  });
});

describe("misses", () => {
  test("a thousand at once of one code make one read", async () => {
    const cache = makeCache();
    const links = await Promise.all(Array.from({ length: 1_000 }, () => cache.resolve("abc")));
    expect(new Set(links).size).toBe(1);
    expect(reads).toHaveLength(1);
  });

  test("a failed read is not kept: the next caller asks again", async () => {
    const cache = makeCache();
    answer = down;
    await expect(cache.resolve("abc")).rejects.toThrow(LinksUnavailableError);
    answer = () => makeLink();
    expect(await cache.resolve("abc")).toEqual(makeLink());
  });

  test("at most 64 reads run at once and 1,000 wait; what comes on top is refused", async () => {
    const cache = makeCache();
    const replies: ((link: null) => void)[] = [];
    answer = () => new Promise((resolve) => void replies.push(resolve));
    const calls = Array.from({ length: 1_100 }, (_, index) => cache.resolve(`code-${index}`));
    const outcomes = Promise.allSettled(calls);
    await time.pass(0);
    expect(replies).toHaveLength(64);
    for (let next = replies.shift(); next; next = replies.shift()) {
      next(null);
      await Promise.resolve().then(() => undefined);
      if (replies.length === 0) await time.pass(0);
    }
    const refused = (await outcomes).filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(1_100 - 1_064);
    expect(reads).toHaveLength(1_064);
  });
});

describe("unknown codes", () => {
  test("are remembered while fresh and never served stale", async () => {
    const cache = makeCache();
    answer = () => null;
    expect(await cache.resolve("nope")).toBeNull();
    await time.pass(FRESH_MS - 1);
    expect(await cache.resolve("nope")).toBeNull();
    expect(reads).toHaveLength(1);
    answer = down;
    await time.pass(1);
    await expect(cache.resolve("nope")).rejects.toThrow(LinksUnavailableError);
  });

  test("become links once they are made", async () => {
    const cache = makeCache();
    answer = () => null;
    await cache.resolve("new");
    answer = () => makeLink();
    await time.pass(FRESH_MS);
    expect(await cache.resolve("new")).toEqual(makeLink());
    expect(cache.stats()).toMatchObject({ links: 1, unknown: 0 });
  });

  test("10,000 of them do not grow memory and push out no link", async () => {
    const cache = makeCache();
    await cache.resolve("known");
    answer = () => null;
    for (let index = 0; index < 1_000; index += 1) await cache.resolve(`first-${index}`);
    const { bytes } = cache.stats();
    for (let index = 0; index < 10_000; index += 1) await cache.resolve(`code-${index}`);
    expect(cache.stats()).toMatchObject({ links: 1, unknown: 1_000 });
    expect(cache.stats().bytes).toBeLessThanOrEqual(bytes + 1_000);
    reads = [];
    await cache.resolve("known");
    expect(reads).toEqual([]);
  });
});

describe("bounds", () => {
  test("the link used least recently goes first", async () => {
    const cache = makeCache({ linksMax: 2 });
    await cache.resolve("a");
    await cache.resolve("b");
    await cache.resolve("a");
    await cache.resolve("c");
    reads = [];
    await cache.resolve("a");
    await cache.resolve("b");
    expect(reads).toEqual(["b"]);
    expect(cache.stats().links).toBe(2);
  });

  test("long targets count by their length", async () => {
    const cache = makeCache();
    const path = "x".repeat(100_000);
    answer = (code) => makeLink({ location: `https://example.com/${code}/${path}` });
    for (let index = 0; index < 500; index += 1) await cache.resolve(`code-${index}`);
    expect(cache.stats().bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(cache.stats().links).toBeGreaterThan(100);
  });

  test("a map keeps nothing that is larger than all of it, and counts a replaced value once", () => {
    const map = new BoundedMap<string>({ entriesMax: 10, bytesMax: 100 });
    map.set("a", "small", 60);
    map.set("a", "other", 70);
    expect([map.size, map.bytes]).toEqual([1, 70]);
    map.set("b", "huge", 101);
    expect(map.get("b")).toBeUndefined();
    expect(map.get("a")).toBe("other");
    map.set("c", "more", 60);
    expect([map.get("a"), map.bytes]).toEqual([undefined, 60]);
  });
});
