import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ConvexHttpClient } from "convex/browser";
import { makeFunctionReference } from "convex/server";
import { afterEach, beforeEach, expect, test } from "vitest";

import { seededRandom } from "../../lib/local-convex/random.ts";
import { startEngineProcess, type EngineProcess } from "../helpers/engine-process.ts";
import { localBackend } from "../helpers/local-backend.ts";

const FUNCTIONS = join(import.meta.dirname, "functions");
const addNote = makeFunctionReference<"mutation">("faults:addNote");
const notes = makeFunctionReference<"query">("faults:notes");
const schedule = makeFunctionReference<"mutation">("faults:schedule");
const scheduleSlow = makeFunctionReference<"mutation">("faults:scheduleSlow");
const jobs = makeFunctionReference<"query">("faults:jobs");

let folder: string;
let dataFile: string;
let running: EngineProcess | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "durable-"));
  dataFile = join(folder, "data.sqlite");
});

afterEach(async () => {
  await running?.kill();
  running = null;
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<ConvexHttpClient> {
  running = await startEngineProcess({ "data-file": dataFile, functions: FUNCTIONS });
  return new ConvexHttpClient(running.url);
}

test("every answered mutation is there after SIGKILL at random instants, ids unique, times increasing", async () => {
  const random = seededRandom(7);
  const answered: string[] = [];
  for (let round = 0; round < 5; round++) {
    const client = await start();
    const engine = running!;
    let left = 20 + Math.floor(random.next() * 150);
    const worker = async (name: string): Promise<void> => {
      for (let i = 0; ; i++) {
        const text = `${round}-${name}-${i}`;
        await client.mutation(addNote, { text }, { skipQueue: true });
        answered.push(text);
        if (--left === 0) engine.child.kill("SIGKILL");
      }
    };
    await Promise.allSettled(Array.from({ length: 12 }, (_, i) => worker(`w${i}`)));
    await engine.ended;
  }
  const client = await start();
  const stored = new Set((await client.query(notes, {})) as string[]);
  expect(answered.filter((text) => !stored.has(text))).toEqual([]);
  await running!.kill();

  const backend = await localBackend({ functionsDir: FUNCTIONS, dataFile });
  const rows = await backend.readAll<{ _id: string; _creationTime: number; text: string }>("notes");
  await backend.close();
  expect(new Set(rows.map((row) => row._id)).size).toBe(rows.length);
  const rounds = rows.map((row) => Number(row.text.split("-")[0]));
  expect(rounds, "rows in creation order are rows in order of the runs").toEqual(
    rounds.toSorted((a, b) => a - b),
  );
  expect(rows.every((row, i) => i === 0 || row._creationTime > rows[i - 1]!._creationTime)).toBe(true);
});

test("a scheduled mutation runs once although the engine dies around its time", async () => {
  let client = await start();
  for (let i = 0; i < 30; i++) await client.mutation(schedule, { text: `job ${i}`, delayMs: i * 4 });
  await running!.kill();
  client = await start();
  await until(async () =>
    (await client.query(jobs, {})).every((job: { state: { kind: string } }) => job.state.kind === "success"),
  );
  expect(((await client.query(notes, {})) as string[]).toSorted()).toEqual(
    Array.from({ length: 30 }, (_, i) => `job ${i}`).toSorted(),
  );
});

test("an action that a crash cut off is failed and not run again", async () => {
  let client = await start();
  await client.mutation(scheduleSlow, {});
  await until(async () => ((await client.query(notes, {})) as string[]).length === 1);
  await running!.kill();
  client = await start();
  const [job] = await client.query(jobs, {});
  expect(job.state).toEqual({ kind: "failed", error: "Transient error while executing action" });
  expect(await client.query(notes, {})).toEqual(["began"]);
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + 15_000;
  while (!(await holds())) {
    if (Date.now() > deadlineMs) throw new Error("it did not happen in time");
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}
