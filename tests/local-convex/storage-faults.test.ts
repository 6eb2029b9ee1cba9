import { createHash } from "node:crypto";
import {
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  openSync,
  writeSync,
  closeSync,
  statSync,
} from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import Database from "better-sqlite3";
import { ConvexHttpClient } from "convex/browser";
import { makeFunctionReference } from "convex/server";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { runEngineProcess, startEngineProcess } from "../helpers/engine-process.ts";
import { localBackend } from "../helpers/local-backend.ts";

const FUNCTIONS = join(import.meta.dirname, "functions");
const PAGE_BYTES = 4_096;
const addNote = makeFunctionReference<"mutation">("faults:addNote");

let folder: string;
let dataFile: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "faults-"));
  dataFile = join(folder, "data.sqlite");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function makeDatabase(notes = 400): Promise<void> {
  const backend = await localBackend({ functionsDir: FUNCTIONS, dataFile });
  await Promise.all(
    Array.from({ length: notes }, (_, i) => backend.mutation("faults:addNote", { text: `${i} `.repeat(40) })),
  );
  await backend.close();
}

const damage = (position: number, bytes: Buffer): void => {
  const descriptor = openSync(dataFile, "r+");
  writeSync(descriptor, bytes, 0, bytes.length, position);
  closeSync(descriptor);
};

const FILES: [name: string, make: () => Promise<void>, says: RegExp][] = [
  [
    "that is no database",
    async () => writeFileSync(dataFile, "hello ".repeat(2_000)),
    /is not a Holdfast database/,
  ],
  ["of a few bytes", async () => writeFileSync(dataFile, "hi"), /is not a Holdfast database/],
  [
    "of another program",
    async () => {
      const db = new Database(dataFile);
      db.exec("PRAGMA journal_mode = WAL; CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
      db.close();
    },
    /database of another program/,
  ],
  [
    "of another format version",
    async () => {
      await makeDatabase(1);
      const db = new Database(dataFile);
      db.pragma("user_version = 7");
      db.close();
    },
    /format version 7/,
  ],
  [
    "of the format before this one",
    async () => {
      await makeDatabase(1);
      const db = new Database(dataFile);
      db.pragma("user_version = 1");
      db.close();
    },
    /format version 1, this program reads version 2/,
  ],
  [
    "with a damaged header",
    async () => {
      await makeDatabase();
      damage(100, Buffer.alloc(300, 0xa5));
    },
    /is damaged/,
  ],
  [
    "damaged in the middle",
    async () => {
      await makeDatabase();
      const middle = Math.floor(statSync(dataFile).size / PAGE_BYTES / 2) * PAGE_BYTES;
      damage(middle, Buffer.alloc(PAGE_BYTES * 3, 0xa5));
    },
    /is damaged/,
  ],
  [
    "cut off",
    async () => {
      await makeDatabase();
      truncateSync(dataFile, Math.floor(statSync(dataFile).size / 2) + 1);
    },
    /is damaged/,
  ],
];

describe("the engine refuses and leaves as it is a file", () => {
  test.each(FILES)("%s", async (_name, make, says) => {
    await make();
    const before = hash();
    const opened = localBackend({ functionsDir: FUNCTIONS, dataFile });
    await expect(opened).rejects.toThrow(says);
    expect(hash()).toBe(before);
  });
});

test("a process that refuses its file says one line and exits with 1", async () => {
  writeFileSync(dataFile, "hello ".repeat(2_000));
  const before = hash();
  const { code, stderr } = await runEngineProcess({ "data-file": dataFile, functions: FUNCTIONS });
  expect(stderr).toBe(`local-convex: ${dataFile} is not a Holdfast database; it was left as it is.\n`);
  expect(code).toBe(1);
  expect(hash()).toBe(before);
});

test("a file in use by another process is left to it", async () => {
  const first = await startEngineProcess({ "data-file": dataFile, functions: FUNCTIONS });
  try {
    const second = await runEngineProcess({ "data-file": dataFile, functions: FUNCTIONS });
    expect(second).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^local-convex: .* is in use by another process\.\n$/),
    });
    await new ConvexHttpClient(first.url).mutation(addNote, { text: "still works" });
  } finally {
    await first.kill();
  }
});

test("a port in use is named, with the option that changes it", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const port = String((server.address() as AddressInfo).port);
  const { code, stderr } = await runEngineProcess({ "data-file": dataFile, functions: FUNCTIONS, port });
  server.close();
  expect(code).toBe(1);
  expect(stderr).toBe(
    `local-convex: Port ${port} is in use. Choose another with --port (npm start: --convex-port).\n`,
  );
});

test("a full disk ends the engine with one line, and everything answered before is kept", async () => {
  await makeDatabase(1);
  const engine = await startEngineProcess({
    "data-file": dataFile,
    functions: FUNCTIONS,
    "pages-max": "150",
  });
  const client = new ConvexHttpClient(engine.url);
  const answered: string[] = [];
  for (let i = 0; i < 2_000; i++) {
    const text = `${i} ${"x".repeat(2_000)}`;
    const isAnswered = await client.mutation(addNote, { text }).then(
      () => true,
      () => false,
    );
    if (!isAnswered) break;
    answered.push(text);
  }
  expect(await engine.ended).toBe(1);
  expect(engine.output()).toMatch(/the disk is full\. What was answered is safe\. Stopping\.\n$/);
  const backend = await localBackend({ functionsDir: FUNCTIONS, dataFile });
  const stored = new Set(await backend.query<string[]>("faults:notes"));
  await backend.close();
  expect(answered.length).toBeGreaterThan(20);
  expect(answered.filter((text) => !stored.has(text))).toEqual([]);
});

test("on a full disk no caller of a shared flush is answered unless all of it is stored", async () => {
  const full = await localBackend({ functionsDir: FUNCTIONS, dataFile, pagesMax: 400 });
  const text = "y".repeat(1_000);
  // More than one flush takes, so that a flush also happens in the middle of a turn.
  const calls = Array.from({ length: 2_000 }, (_, i) =>
    full.mutation("faults:addNote", { text: `${i} ${text}` }),
  );
  const results = await Promise.allSettled(calls);
  await full.close();
  const answered = results.flatMap((result, i) => (result.status === "fulfilled" ? [`${i} ${text}`] : []));
  const failures = results.filter((result) => result.status === "rejected");
  expect(failures.length).toBeGreaterThan(0);
  const backend = await localBackend({ functionsDir: FUNCTIONS, dataFile });
  const stored = new Set(await backend.query<string[]>("faults:notes"));
  await backend.close();
  expect(answered.filter((each) => !stored.has(each))).toEqual([]);
});

test("creation times increase over restarts although the clock stands still", async () => {
  for (let round = 0; round < 3; round++) {
    const backend = await localBackend({ functionsDir: FUNCTIONS, dataFile });
    for (let i = 0; i < 50; i++) await backend.mutation("faults:addNote", { text: `${round * 50 + i}` });
    const notes = await backend.query<string[]>("faults:notes");
    await backend.close();
    expect(notes.map(Number)).toEqual(Array.from({ length: (round + 1) * 50 }, (_, i) => i));
  }
});

function hash(): string {
  return createHash("sha256").update(readFileSync(dataFile)).digest("hex");
}
