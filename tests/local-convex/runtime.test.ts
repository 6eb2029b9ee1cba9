import { join } from "node:path";

import { ConvexHttpClient } from "convex/browser";
import { makeFunctionReference } from "convex/server";
import { afterEach, describe, expect, test } from "vitest";

import { startEngineProcess, type EngineProcess } from "../helpers/engine-process.ts";
import { localBackend, type LocalBackend, type LocalBackendOptions } from "../helpers/local-backend.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";

const FUNCTIONS = join(import.meta.dirname, "functions");
const SECRET = "s3cret-value-of-the-test";
let backend: LocalBackend | null = null;
let running: EngineProcess | null = null;
const folders: string[] = [];

const open = async (options: Partial<LocalBackendOptions> = {}): Promise<LocalBackend> =>
  (backend = await localBackend({ functionsDir: FUNCTIONS, ...options }));
const failure = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "no failure",
    (error: Error) => error.message,
  );

afterEach(async () => {
  await backend?.close();
  await running?.kill();
  backend = null;
  running = null;
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe("what a function throws", () => {
  test.each([
    ["faults:throwsText", /^Uncaught only text$/],
    ["faults:throwsObject", /^Uncaught \{ code: 'odd' \}$/],
    ["faults:throwsData", /^Uncaught ConvexError: \{.*code.*refused/],
  ])("%s becomes text", async (path, text) => {
    const { mutation } = await open();
    expect((await failure(mutation(path))).split("\n")[0]).toMatch(text);
  });

  test("the stack names file and line of the source", async () => {
    const { mutation } = await open();
    expect(await failure(mutation("faults:throwsData"))).toMatch(
      /\n {4}at handler \(\.\.\/convex\/faults\.ts:\d+:\d+\)/,
    );
  });
});

describe("what is not supported fails with one clear line", () => {
  test.each([
    ["action", "faults:unsupported", { what: "upload" }],
    ["action", "faults:unsupported", { what: "store" }],
    ["action", "faults:unsupported", { what: "vector" }],
    ["query", "faults:textSearch", {}],
  ] as const)("%s %s %o", async (kind, path, args) => {
    const text = await failure((await open())[kind](path, args));
    expect(text.split("\n")[0]).toMatch(
      /is not supported by local-convex\. Use a Convex deployment for it\.$/,
    );
  });
});

test("scheduling what does not exist is refused", async () => {
  const { mutation } = await open();
  expect(await failure(mutation("faults:scheduleNowhere"))).toContain(
    "Attempted to schedule function at nonexistent path: faults.js:nothing",
  );
});

test("a handler that waits for nothing fails and does not block the next call", async () => {
  const { mutation } = await open({ handlerStuckMs: 200 });
  const stuck = failure(mutation("faults:never"));
  const next = mutation("faults:increment", { name: "p" });
  expect(await stuck).toContain("Returned promise will never resolve");
  await next;
});

test("a write that nobody awaits still happens, a handled failure does not fail the function", async () => {
  const { mutation, query } = await open();
  await mutation("faults:forgottenWrite");
  expect(await mutation("faults:handledFailure")).toBe("handled");
  expect(await query("faults:notes")).toEqual(["written anyway", "stays"]);
});

test("log lines come back with the answer", async () => {
  const { engine } = await open();
  const { logLines } = await engine.query("faults:logs");
  expect(logLines).toEqual(["[LOG] 'hello' 42 { a: 1 }", "[WARN] 'careful'"]);
});

test("values of secrets appear neither in errors nor in log lines nor in reports", async () => {
  const reports: string[] = [];
  const { engine } = await open({
    env: { HOLDFAST_TEST_SECRET: SECRET },
    onReport: (_source, text) => reports.push(text),
  });
  const error = await engine.query("faults:leak").catch((thrown: Error & { logLines?: string[] }) => thrown);
  engine.report("test", error);
  const everything = JSON.stringify([(error as Error).message, error.logLines, reports]);
  expect(everything).not.toContain(SECRET);
  expect(everything).toContain("[redacted]");
});

test("closing while jobs run and wait ends in peace, and the waiting ones run after the next start", async () => {
  const folder = mkdtempSync(join(tmpdir(), "close-"));
  folders.push(folder);
  const dataFile = join(folder, "data.sqlite");
  const reports: string[] = [];
  const first = await open({ dataFile, onReport: (source, text) => reports.push(`${source}: ${text}`) });
  await first.mutation("faults:scheduleSlow");
  await first.mutation("faults:schedule", { text: "later", delayMs: 1_000 });
  await first.close();
  backend = null;
  const second = await open({ dataFile });
  await second.advanceMs(2_000);
  expect(await second.query("faults:notes")).toContain("later");
  expect(reports).toEqual([]);
  const jobs = await second.query<{ state: { kind: string } }[]>("faults:jobs");
  expect(jobs.filter((job) => job.state.kind === "pending")).toEqual([]);
});

async function start(args: Record<string, string> = {}): Promise<ConvexHttpClient> {
  const folder = mkdtempSync(join(tmpdir(), "runtime-"));
  folders.push(folder);
  running = await startEngineProcess({
    "data-file": join(folder, "data.sqlite"),
    functions: FUNCTIONS,
    ...args,
  });
  return new ConvexHttpClient(running.url);
}

test("the watchdog ends an endless loop with one line", async () => {
  const client = await start({ "stuck-ms": "1500" });
  const call = client.query(makeFunctionReference<"query">("faults:endless"), {}).catch(() => "cut off");
  expect(await running!.ended).toBeNull();
  expect(await call).toBe("cut off");
  expect(running!.output()).toContain("local-convex: stuck for 1.5 s in one function; ending the process.\n");
});

test("a rejection that nobody handles fails its mutation, and the engine lives on", async () => {
  const client = await start();
  const forgotten = client.mutation(makeFunctionReference<"mutation">("faults:forgottenFailure"), {});
  await expect(forgotten).rejects.toThrow(/does not match the schema/);
  expect(await client.query(makeFunctionReference<"query">("faults:notes"), {})).toEqual([]);
});
