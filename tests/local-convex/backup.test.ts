import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createEngine, type Engine } from "../../lib/local-convex/engine.ts";
import { type RunningServer, startServer } from "../../lib/local-convex/server.ts";

const FUNCTIONS = join(import.meta.dirname, "functions");

let folder: string;
let engine: Engine;
let server: RunningServer | null;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "engine-backup-"));
  engine = await createEngine({ dataFile: join(folder, "data.sqlite"), functionsDir: FUNCTIONS });
  server = null;
});
afterEach(async () => {
  await server?.close();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const addNote = (text: string) => engine.mutation("faults:addNote", { text });

async function notesIn(dataFile: string): Promise<Set<string>> {
  const copy = await createEngine({ dataFile, functionsDir: FUNCTIONS });
  try {
    const { valueText } = await copy.query("faults:notes");
    return new Set(JSON.parse(valueText) as string[]);
  } finally {
    await copy.close();
  }
}

test("a copy has all that was answered before it was made, while others go on writing", async () => {
  // Far more pages than one step copies.
  const long = "x".repeat(4_000);
  await Promise.all(Array.from({ length: 1_500 }, (_, index) => addNote(`${index} ${long}`)));
  const copying = new AbortController();
  const answered: string[] = [];
  let answeredAtBegin = 0;
  const writing = (async () => {
    for (let index = 0; !copying.signal.aborted; index += 1) {
      await addNote(`during ${index}`);
      answered.push(`during ${index}`);
    }
  })();
  const file = join(folder, "copy.sqlite");
  while (answered.length < 5) await new Promise(setImmediate);
  answeredAtBegin = answered.length;
  await engine.backUp(file);
  copying.abort();
  await writing;
  // Writers were not kept waiting for the copy.
  expect(answered.length).toBeGreaterThan(answeredAtBegin);
  const copied = await notesIn(file);
  expect(copied.has(`1499 ${long}`)).toBe(true);
  expect(answered.slice(0, answeredAtBegin).filter((text) => !copied.has(text))).toEqual([]);
  expect(readdirSync(folder).filter((name) => name.includes("part"))).toEqual([]);
});

test("a copy comes to its end while a transaction begins in every turn of the event loop", async () => {
  const long = "x".repeat(4_000);
  await Promise.all(Array.from({ length: 1_500 }, (_, index) => addNote(`${index} ${long}`)));
  const turnsMax = 5_000;
  let turns = 0;
  let isCopied = false;
  const writing: Promise<unknown>[] = [];
  const driven = new Promise<void>((resolve) => {
    const drive = (): void => {
      if (isCopied || turns === turnsMax) return resolve();
      turns += 1;
      writing.push(addNote(`during ${turns}`));
      setImmediate(drive);
    };
    drive();
  });
  await engine.backUp(join(folder, "copy.sqlite"));
  isCopied = true;
  await driven;
  await Promise.all(writing);
  // Some turns for each of the steps; not as many as there is work for.
  expect(turns).toBeLessThan(turnsMax);
});

test("a copy that cannot be written says so, leaves nothing and harms nobody", async () => {
  await addNote("a");
  await expect(engine.backUp(join(folder, "nowhere", "copy.sqlite"))).rejects.toThrow(
    "its folder does not exist",
  );
  await addNote("b");
  expect(readdirSync(folder).filter((name) => name.includes("copy"))).toEqual([]);
});

async function ask(key: string | null, body: unknown): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${server!.port}/api/backup`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

test("over HTTP only the holder of the backup key has a copy made, and only where nothing is", async () => {
  server = await startServer(engine, { host: "127.0.0.1", port: 0, backupKey: "key" });
  const file = join(folder, "copy.sqlite");
  for (const key of [null, "", "other", "keykey"]) expect((await ask(key, { file })).status).toBe(401);
  expect(existsSync(file)).toBe(false);
  for (const bad of [{}, { file: 5 }, { file: "copy.sqlite" }, { file: join(folder, "no", "copy") }, null]) {
    expect((await ask("key", bad)).status).toBe(400);
  }
  expect(await ask("key", { file })).toMatchObject({
    status: 200,
    text: expect.stringMatching(/^\{"bytes":\d+\}$/),
  });
  writeFileSync(join(folder, "mine"), "mine");
  expect((await ask("key", { file: join(folder, "mine") })).status).toBe(400);
});

test("an engine without a backup key makes none", async () => {
  server = await startServer(engine, { host: "127.0.0.1", port: 0 });
  expect((await ask("", { file: join(folder, "copy.sqlite") })).status).toBe(404);
  expect((await ask(null, { file: join(folder, "copy.sqlite") })).status).toBe(404);
});
