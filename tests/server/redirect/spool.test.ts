import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LogEvent } from "../../../lib/server/deps.ts";
import type { Click } from "../../../lib/server/redirect/click.ts";
import { createClickWriter } from "../../../lib/server/redirect/click-writer.ts";
import { decodeRecords, encodeRecord } from "../../../lib/server/redirect/spool-records.ts";
import { SEGMENT_RECORDS_MAX, Spool, type SpoolOptions } from "../../../lib/server/redirect/spool.ts";
import { FakeLedger, makeClick, ManualTime, newKey, settle } from "./helpers.ts";

let folder = "";
let time = new ManualTime();
let ledger = new FakeLedger();
let logged: LogEvent[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-spool-"));
  time = new ManualTime();
  ledger = new FakeLedger();
  logged = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const openSpool = (changes: Partial<SpoolOptions> = {}) =>
  Spool.open({
    folder,
    spoolId: newKey(),
    fsync: false,
    nowMs: time.nowMs,
    log: (event) => void logged.push(event),
    ...changes,
  });

const makeWriter = (spool: Spool, queuedMax?: number) =>
  createClickWriter({
    write: ledger.write,
    spool,
    maySpeculate: false,
    after: time.after,
    random: () => 0,
    log: (event) => void logged.push(event),
    ...(queuedMax !== undefined && { queuedMax }),
  });

const names = (end: string) => readdirSync(folder).filter((name) => name.endsWith(end));
const events = () => logged.map(({ event }) => event);
/** Reads of files take turns of the event loop that no clock counts. */
const until = async (isSo: () => boolean) => {
  while (!isSo()) await time.pass(1_000);
};

const endedPid = spawnSync(process.execPath, ["-e", ""]).pid;

/** A file as a process left it that ended in the middle. */
function leaveBehind(bytes: string | Buffer, spoolId = newKey()): string {
  writeFileSync(join(folder, `${spoolId}.lock`), JSON.stringify({ pid: endedPid, startTicks: "1" }));
  const path = join(folder, `${spoolId}.00000001.clicks`);
  writeFileSync(path, bytes);
  return path;
}

describe("an append", () => {
  test("is in the file when it resolves, and the file is for its owner only", async () => {
    const spool = openSpool();
    const click = makeClick({ agent: 'é \u2028 " \\ \n' });
    await spool.append(click, true);
    const [name = ""] = names(".clicks");
    expect(decodeRecords(readFileSync(join(folder, name)))).toEqual({
      clicks: [click],
      damaged: [],
      torn: null,
    });
    expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
  });

  test("shares one write with the others of its turn", async () => {
    let writes = 0;
    const spool = openSpool({
      write: (fd, bytes, offset) => {
        writes += 1;
        return writeSync(fd, bytes, offset);
      },
    });
    await Promise.all(Array.from({ length: 100 }, () => spool.append(makeClick(), true)));
    expect(writes).toBe(1);
  });

  test("goes on where a write took only a part", async () => {
    const spool = openSpool({
      write: (fd, bytes, offset) => writeSync(fd, bytes, offset, Math.min(7, bytes.length - offset)),
    });
    const clicks = Array.from({ length: 5 }, () => makeClick());
    await Promise.all(clicks.map((click) => spool.append(click, true)));
    const [name = ""] = names(".clicks");
    expect(decodeRecords(readFileSync(join(folder, name))).clicks).toEqual(clicks);
  });

  test("with fsync waits for the disk, and rotating files under it loses nothing", async () => {
    const spool = openSpool({ fsync: true });
    const outcomes = await Promise.all(
      Array.from({ length: 2 * SEGMENT_RECORDS_MAX + 1 }, (_, index) =>
        spool.append(makeClick(), index < SEGMENT_RECORDS_MAX),
      ),
    );
    expect(outcomes.every(({ kind }) => kind === "appended")).toBe(true);
    const loaded = await spool.loadCold();
    expect(loaded?.clicks).toHaveLength(SEGMENT_RECORDS_MAX);
    await spool.close();
    expect(names(".clicks")).toHaveLength(3);
  });
});

describe("the writer with a spool", () => {
  test("a recorded click is in a file before it is in the ledger, and the file goes when the ledger has it", async () => {
    const spool = openSpool();
    const writer = makeWriter(spool);
    await writer.record(makeClick());
    expect(ledger.rows.size).toBe(0);
    expect(names(".clicks")).toHaveLength(1);
    await time.pass(200);
    expect(ledger.rows.size).toBe(1);
    expect(names(".clicks")).toEqual([]);
    await writer.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a full batch does not wait for the time", async () => {
    const writer = makeWriter(openSpool());
    await Promise.all(Array.from({ length: 100 }, () => writer.record(makeClick())));
    await settle();
    expect(ledger.batches.map(({ clicks }) => clicks.length)).toEqual([100]);
  });

  test("files do not pile up while the ledger keeps pace", async () => {
    const writer = makeWriter(openSpool());
    for (let round = 0; round < 35; round += 1) {
      await Promise.all(Array.from({ length: 100 }, () => writer.record(makeClick())));
      await time.pass(200);
      expect(names(".clicks").length).toBeLessThanOrEqual(2);
    }
    expect(ledger.rows.size).toBe(3_500);
  });

  test("while Convex is down memory stays bounded, the disk takes the rest, and all of it is written after", async () => {
    const spool = openSpool();
    const writer = makeWriter(spool, 2_000);
    ledger.down();
    for (let round = 0; round < 75; round += 1) {
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => writer.record(makeClick({ linkId: `link-${index}` }))),
      );
      expect(writer.metrics().queued).toBeLessThanOrEqual(2_000);
    }
    expect(writer.metrics()).toMatchObject({ recorded: 7_500, spooled: 7_500, lost: 0 });
    ledger.up();
    let most = 0;
    await until(() => {
      most = Math.max(most, writer.metrics().queued);
      return ledger.rows.size === 7_500;
    });
    expect(most).toBeLessThanOrEqual(2_000);
    expect(writer.metrics()).toMatchObject({
      written: 7_500,
      queued: 0,
      queuedBytes: 0,
      lost: 0,
      replayed: 0,
    });
    await writer.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("close leaves what Convex does not take to the next start, which writes it under the same keys", async () => {
    const writer = makeWriter(openSpool());
    ledger.down();
    const clicks = Array.from({ length: 30 }, () => makeClick());
    await Promise.all(clicks.map((click) => writer.record(click)));
    const closing = writer.close();
    await time.pass(5_000);
    await closing;
    expect(writer.metrics().lost).toBe(0);
    ledger.up();
    const next = makeWriter(openSpool());
    await until(() => ledger.rows.size === 30);
    expect([...ledger.rows.values()]).toEqual(clicks);
    expect(next.metrics()).toMatchObject({ replayed: 30, written: 30 });
    await next.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("clicks the ledger refuses are kept in a file aside", async () => {
    const writer = makeWriter(openSpool());
    ledger.next = () => ({ kind: "refused", reason: "unknown link" });
    const click = makeClick();
    await writer.record(click);
    await time.pass(1_000);
    await writer.close();
    const [name = ""] = names(".refused");
    expect(decodeRecords(readFileSync(join(folder, name))).clicks).toEqual([click]);
    expect(names(".clicks")).toEqual([]);
  });
});

describe("a disk that refuses", () => {
  /** Takes half of the bytes and then has no room, as a full disk does. */
  const full: SpoolOptions["write"] = (fd, bytes, offset) => {
    if (offset === 0) return writeSync(fd, bytes, 0, Math.ceil(bytes.length / 2));
    throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  };

  test("makes clicks go directly to the ledger before the answer, and says so; nothing is torn", async () => {
    let isFull = false;
    const spool = openSpool({ write: (...args) => (isFull ? full(...args) : writeSync(...args)) });
    const writer = makeWriter(spool);
    await writer.record(makeClick());
    isFull = true;
    await writer.record(makeClick());
    expect(ledger.rows.size).toBe(2);
    expect(events()).toEqual(["spool_failed"]);
    expect(logged[0]).toMatchObject({ code: "ENOSPC" });
    isFull = false;
    await time.pass(1_000);
    await writer.record(makeClick());
    expect(events()).toEqual(["spool_failed", "spool_works_again"]);
    for (const name of names(".clicks")) {
      expect(decodeRecords(readFileSync(join(folder, name)))).toMatchObject({ damaged: [], torn: null });
    }
    await time.pass(1_000);
    await writer.close();
    expect(ledger.rows.size).toBe(3);
    expect(readdirSync(folder)).toEqual([]);
    expect(writer.metrics()).toMatchObject({ lost: 0, spoolFailures: 1 });
  });

  test("is asked once a second only", async () => {
    let writes = 0;
    const spool = openSpool({
      write: () => {
        writes += 1;
        throw Object.assign(new Error("broken"), { code: "EIO" });
      },
    });
    for (let index = 0; index < 10; index += 1) await spool.append(makeClick(), true);
    expect(writes).toBe(1);
    await time.pass(1_000);
    await spool.append(makeClick(), true);
    expect(writes).toBe(2);
  });

  test("together with Convex being down answers nobody: each is turned away and nothing of it is counted later", async () => {
    const writer = makeWriter(openSpool({ write: full }));
    ledger.down();
    const recording = Promise.all(Array.from({ length: 5 }, () => writer.record(makeClick())));
    await time.pass(2_000);
    expect(await recording).toEqual([false, false, false, false, false]);
    expect(writer.metrics()).toMatchObject({ turnedAway: 5, lost: 0, queued: 0, queuedBytes: 0 });
    expect(events().filter((event) => event === "clicks_turned_away")).toHaveLength(1);
    ledger.up();
    await time.pass(60_000);
    expect(ledger.rows.size).toBe(0);
    const again = writer.record(makeClick());
    await time.pass(1);
    expect(await again).toBe(true);
    expect(ledger.rows.size).toBe(1);
    await writer.close();
    expect(time.pendingTimers).toBe(0);
  });

  test("and a batch that was on its way when its visitor was turned away is not sent again", async () => {
    const writer = makeWriter(openSpool({ write: full }));
    let fail = () => undefined as void;
    ledger.next = () => new Promise((_resolve, reject) => void (fail = () => reject(new Error("no answer"))));
    const recording = writer.record(makeClick());
    await time.pass(2_000);
    expect(await recording).toBe(false);
    fail();
    ledger.up();
    await time.pass(60_000);
    expect(ledger.batches).toHaveLength(1);
    expect(writer.metrics()).toMatchObject({ turnedAway: 1, written: 0, queued: 0, lost: 0 });
  });

  test("a memory that is full turns away at once", async () => {
    const writer = makeWriter(openSpool({ write: full }), 3);
    ledger.down();
    const recording = Array.from({ length: 5 }, () => writer.record(makeClick()));
    await settle();
    expect(writer.metrics()).toMatchObject({ queued: 3, turnedAway: 2 });
    await time.pass(2_000);
    expect(await Promise.all(recording)).toEqual([false, false, false, false, false]);
  });

  test("is what its state says, until a write works again", async () => {
    let isFull = true;
    const spool = openSpool({ write: (...args) => (isFull ? full(...args) : writeSync(...args)) });
    expect(spool.state()).toEqual({ status: "ok" });
    await spool.append(makeClick(), true);
    expect(spool.state()).toEqual({ status: "down", code: "ENOSPC" });
    isFull = false;
    await time.pass(1_000);
    await spool.append(makeClick(), true);
    expect(spool.state()).toEqual({ status: "ok" });
  });
});

describe("what an ended process left", () => {
  async function replay(): Promise<Click[]> {
    const spool = openSpool();
    const found: Click[] = [];
    for (let next = await spool.loadCold(); next; next = await spool.loadCold()) {
      found.push(...next.clicks);
      spool.acknowledge(next.segment, next.clicks.length);
    }
    await spool.close();
    return found;
  }

  test("is claimed and replayed, its files and its lock go", async () => {
    const clicks = [makeClick(), makeClick()];
    leaveBehind(clicks.map(encodeRecord).join(""));
    expect(await replay()).toEqual(clicks);
    expect(readdirSync(folder)).toEqual([]);
    expect(events()).toEqual(["spool_claimed"]);
  });

  test("stays with a live process", async () => {
    const owner = openSpool();
    await owner.append(makeClick(), true);
    expect(await replay()).toEqual([]);
    expect(names(".clicks")).toHaveLength(1);
  });

  test("goes to one of two that start", async () => {
    leaveBehind(encodeRecord(makeClick()));
    const [first, second] = [openSpool(), openSpool()];
    expect([first.hasCold, second.hasCold]).toEqual([true, false]);
  });

  test("and its replayer ended as well: the next one replays it", async () => {
    const click = makeClick();
    leaveBehind(encodeRecord(click));
    const first = openSpool();
    await first.loadCold();
    await first.close();
    expect(await replay()).toEqual([click]);
  });

  test("a last record torn at any byte costs only itself, is reported and set aside", async () => {
    const [whole, torn] = [makeClick(), encodeRecord(makeClick())];
    for (let length = 1; length < torn.length; length += 13) {
      logged = [];
      leaveBehind(encodeRecord(whole) + torn.slice(0, length));
      expect(await replay()).toEqual([whole]);
      expect(logged).toContainEqual(
        expect.objectContaining({ event: "spool_records_damaged", damaged: 0, tornBytes: length }),
      );
      const [name = ""] = names(".damaged");
      expect(readFileSync(join(folder, name), "utf8")).toBe(`${torn.slice(0, length)}\n`);
      rmSync(join(folder, name));
    }
  });

  test.each<[string, (line: string) => string]>([
    ["a changed byte", (line) => line.replace("billable", "Billable")],
    ["a changed checksum", (line) => (line.startsWith("0") ? "1" : "0") + line.slice(1)],
    ["zeros", () => `${"\0".repeat(300)}\n`],
    ["an empty line", () => "\n"],
  ])("%s in the middle costs that record only, and its bytes are kept", async (_name, damage) => {
    const clicks = [makeClick(), makeClick(), makeClick()];
    const lines = clicks.map(encodeRecord);
    const bad = damage(lines[1] ?? "");
    leaveBehind([lines[0], bad, lines[2]].join(""));
    expect(await replay()).toEqual([clicks[0], clicks[2]]);
    const [name = ""] = names(".damaged");
    expect(readFileSync(join(folder, name), "utf8")).toBe(bad);
    expect(names(".clicks")).toEqual([]);
  });

  test("a whole record of another version is kept aside, not dropped", async () => {
    const line = encodeRecord({ ...makeClick(), ip: "203.0.113.9" } as Click);
    leaveBehind(line);
    expect(await replay()).toEqual([]);
    expect(readFileSync(join(folder, names(".damaged")[0] ?? ""), "utf8")).toBe(line);
  });

  test("an empty file and a lock alone are cleared away", async () => {
    leaveBehind("");
    rmSync(leaveBehind(""));
    expect(await replay()).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a file that cannot be read stays and is named", async () => {
    const path = leaveBehind("");
    rmSync(path);
    mkdirSync(path);
    expect(await replay()).toEqual([]);
    expect(logged).toContainEqual(expect.objectContaining({ event: "spool_file_unreadable", path }));
    expect(existsSync(path)).toBe(true);
  });

  test("other files in the folder are left alone", async () => {
    appendFileSync(join(folder, "notes.txt"), "mine");
    await replay();
    expect(readdirSync(folder)).toEqual(["notes.txt"]);
  });
});
