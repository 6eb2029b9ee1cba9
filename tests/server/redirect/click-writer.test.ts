import { beforeEach, describe, expect, test } from "vitest";
import type { LogEvent } from "../../../lib/server/deps.ts";
import { createClickWriter, type ClickWriterOptions } from "../../../lib/server/redirect/click-writer.ts";
import { FakeLedger, makeClick, ManualTime, settle } from "./helpers.ts";

let time = new ManualTime();
let ledger = new FakeLedger();
let logged: LogEvent[] = [];
beforeEach(() => {
  time = new ManualTime();
  ledger = new FakeLedger();
  logged = [];
});

/** Without a spool; where clicks are written after the answer, `waited` holds what the platform waits for. */
function makeWriter(changes: Partial<ClickWriterOptions> = {}) {
  return createClickWriter({
    write: ledger.write,
    spool: null,
    maySpeculate: true,
    after: time.after,
    random: () => 0,
    log: (event) => void logged.push(event),
    ...changes,
  });
}

const waited: Promise<void>[] = [];
const waitUntil = (work: Promise<void>) => void waited.push(work);
const events = () => logged.map(({ event }) => event);

describe("without a disk", () => {
  test("a click is in the ledger before record resolves, and the log says once that it works this way", async () => {
    const writer = makeWriter();
    await writer.record(makeClick());
    expect(ledger.rows.size).toBe(1);
    await writer.record(makeClick());
    expect(events()).toEqual(["clicks_without_spool"]);
    expect(logged[0]?.message).toContain("before the answer");
  });

  test("with waitUntil the answer does not wait, and the platform waits for the write", async () => {
    waited.length = 0;
    const writer = makeWriter({ waitUntil });
    let reply = () => undefined as void;
    ledger.next = () => new Promise((resolve) => void (reply = () => resolve({ kind: "written", count: 1 })));
    await writer.record(makeClick());
    let isWritten = false;
    void waited[0]?.then(() => (isWritten = true));
    await settle();
    expect(isWritten).toBe(false);
    reply();
    await settle();
    expect(isWritten).toBe(true);
  });

  test("while Convex is down an answer waits two seconds at most, and the click is written later", async () => {
    const writer = makeWriter();
    ledger.down();
    let isAnswered = false;
    const recording = writer.record(makeClick()).then(() => (isAnswered = true));
    await time.pass(1_999);
    expect(isAnswered).toBe(false);
    await time.pass(1);
    await recording;
    ledger.up();
    await time.pass(20_000);
    expect(ledger.rows.size).toBe(1);
    expect(writer.metrics()).toMatchObject({ recorded: 1, written: 1, lost: 0, queued: 0 });
  });

  test("a full memory loses clicks, answers at once, counts them and says so once", async () => {
    const writer = makeWriter({ queuedMax: 10, waitUntil });
    ledger.down();
    for (let index = 0; index < 25; index += 1) await writer.record(makeClick());
    expect(writer.metrics()).toMatchObject({ recorded: 25, queued: 10, lost: 15 });
    expect(events().filter((event) => event === "clicks_lost")).toHaveLength(1);
    ledger.up();
    await time.pass(30_000);
    expect(writer.metrics()).toMatchObject({ written: 10, lost: 15, queued: 0, queuedBytes: 0 });
  });

  test("memory is bounded in bytes as well", async () => {
    const writer = makeWriter({ queuedBytesMax: 10_000, waitUntil });
    ledger.down();
    for (let index = 0; index < 25; index += 1) {
      await writer.record(makeClick({ agent: "x".repeat(512), referrer: "y".repeat(512) }));
    }
    expect(writer.metrics().queuedBytes).toBeLessThanOrEqual(10_000);
    expect(writer.metrics().lost).toBe(25 - writer.metrics().queued);
  });
});

describe("batches", () => {
  test("hold clicks of one link, a hundred at most, in the order they came", async () => {
    const writer = makeWriter({ waitUntil });
    const clicks = Array.from({ length: 500 }, (_, index) => makeClick({ linkId: `link-${index % 2}` }));
    for (const click of clicks) await writer.record(click);
    await time.pass(1_000);
    for (const { linkId, clicks } of ledger.batches) {
      expect(clicks.length).toBeLessThanOrEqual(100);
      expect(clicks.every((click) => click.linkId === linkId)).toBe(true);
    }
    const ofFirst = ledger.batches
      .filter(({ linkId }) => linkId === "link-0")
      .flatMap(({ clicks }) => clicks);
    expect(ofFirst).toEqual(clicks.filter(({ linkId }) => linkId === "link-0"));
    expect(ledger.rows.size).toBe(500);
  });

  test("at most four are under way, and one of a link", async () => {
    const writer = makeWriter({ waitUntil });
    const replies: (() => void)[] = [];
    ledger.next = ({ clicks }) =>
      new Promise((resolve) => {
        replies.push(() => resolve({ kind: "written", count: clicks.length }));
      });
    for (let index = 0; index < 30; index += 1)
      await writer.record(makeClick({ linkId: `link-${index % 10}` }));
    await settle();
    expect(new Set(ledger.batches.map(({ linkId }) => linkId)).size).toBe(4);
    expect(ledger.batches).toHaveLength(4);
    expect(writer.metrics().inFlight).toBe(4);
    for (let next = replies.shift(); next; next = replies.shift()) {
      next();
      await settle();
      expect(writer.metrics().inFlight).toBeLessThanOrEqual(4);
    }
    expect(ledger.rows.size).toBe(30);
  });

  test("what the ledger leaves for another meter comes in the next batch", async () => {
    const writer = makeWriter({ waitUntil });
    ledger.next = ({ clicks }) => ({ kind: "written", count: Math.min(3, clicks.length) });
    for (let index = 0; index < 10; index += 1) await writer.record(makeClick());
    await time.pass(0);
    expect(ledger.rows.size).toBe(10);
    expect(writer.metrics()).toMatchObject({ written: 10, retried: 0, queued: 0 });
  });
});

describe("a batch that fails", () => {
  test("is tried again with the same keys until it is written", async () => {
    const writer = makeWriter({ waitUntil });
    ledger.down();
    const click = makeClick();
    await writer.record(click);
    await time.pass(5_000);
    expect(ledger.batches.length).toBeGreaterThan(3);
    ledger.up();
    await time.pass(10_000);
    expect(new Set(ledger.batches.flatMap(({ clicks }) => clicks.map(({ key }) => key)))).toEqual(
      new Set([click.key]),
    );
    expect(ledger.rows.size).toBe(1);
    expect(writer.metrics()).toMatchObject({ written: 1, lost: 0 });
    expect(writer.metrics().retried).toBe(ledger.batches.length - 1);
  });

  test("B28: written although the reply was lost, it counts once", async () => {
    const writer = makeWriter({ waitUntil });
    const click = makeClick();
    ledger.next = ({ clicks }) => {
      for (const each of clicks) ledger.rows.set(each.key, each);
      return new Error("the connection was cut");
    };
    await writer.record(click);
    await settle();
    ledger.up();
    await time.pass(1_000);
    expect([...ledger.rows.values()]).toEqual([click]);
  });

  test("makes a pause that grows to ten seconds, in which one batch asks for all links", async () => {
    const writer = makeWriter({ waitUntil });
    ledger.down();
    for (let index = 0; index < 200; index += 1) await writer.record(makeClick({ linkId: `link-${index}` }));
    await time.pass(60_000);
    // The first four were under way before the first failure; then 0.05 s, 0.1 s, … 5 s, 5 s, …
    expect(ledger.batches.length).toBeLessThan(30);
    ledger.up();
    await time.pass(20_000);
    expect(ledger.rows.size).toBe(200);
  });

  test("of one link does not keep the others back", async () => {
    const writer = makeWriter({ waitUntil });
    ledger.next = ({ linkId, clicks }) =>
      linkId === "poison" ? new Error("always") : { kind: "written", count: clicks.length };
    await writer.record(makeClick({ linkId: "poison" }));
    for (let index = 0; index < 50; index += 1) {
      await writer.record(makeClick({ linkId: `link-${index}` }));
      await time.pass(200);
    }
    await time.pass(10_000);
    expect(writer.metrics()).toMatchObject({ written: 50, queued: 1 });
    expect(writer.metrics().oldestQueuedAtMs).toBe(makeClick().atMs);
  });
});

describe("a refused batch", () => {
  test("is taken apart until only the click at fault is given up", async () => {
    const writer = makeWriter({ waitUntil });
    const clicks = Array.from({ length: 40 }, (_, index) =>
      makeClick({ rule: index === 23 ? "bad" : "good" }),
    );
    ledger.next = (batch) =>
      batch.clicks.some(({ rule }) => rule === "bad")
        ? { kind: "refused", reason: "no such rule" }
        : { kind: "written", count: batch.clicks.length };
    for (const click of clicks) await writer.record(click);
    await time.pass(1_000);
    expect(ledger.rows.size).toBe(39);
    expect(writer.metrics()).toMatchObject({ written: 39, refused: 1, queued: 0, lost: 0 });
    expect(logged).toContainEqual(
      expect.objectContaining({ event: "click_refused", key: clicks[23]?.key, reason: "no such rule" }),
    );
  });
});

describe("close", () => {
  test("resolves when what is queued is written", async () => {
    const writer = makeWriter({ waitUntil });
    for (let index = 0; index < 250; index += 1) await writer.record(makeClick());
    const closing = writer.close();
    await time.pass(0);
    await closing;
    expect(ledger.rows.size).toBe(250);
    expect(time.pendingTimers).toBe(0);
  });

  test("gives up in the end, counts what is lost and leaves no timer", async () => {
    const writer = makeWriter({ waitUntil });
    ledger.down();
    for (let index = 0; index < 7; index += 1) await writer.record(makeClick());
    const closing = writer.close();
    await time.pass(5_000);
    await closing;
    expect(writer.metrics().lost).toBe(7);
    expect(events()).toContain("clicks_left");
    expect(time.pendingTimers).toBe(0);
  });

  test("a click that comes after it is counted as lost", async () => {
    const writer = makeWriter();
    await writer.close();
    await writer.record(makeClick());
    expect(writer.metrics()).toMatchObject({ recorded: 1, lost: 1 });
  });
});
