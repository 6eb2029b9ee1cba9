import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { startEngineProcess } from "../helpers/engine-process.ts";
import { localBackend, type LocalBackend, type LocalBackendOptions } from "../helpers/local-backend.ts";
import { startTestIssuer } from "../helpers/test-issuer.ts";

/*
 * Functions that change: each test writes its own folder, so that schema, crons and code can be replaced.
 */
let root: string;
let functionsDir: string;
let backend: LocalBackend | null = null;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "reload-"));
  functionsDir = join(root, "convex");
  mkdirSync(functionsDir);
  symlinkSync(join(import.meta.dirname, "..", "..", "node_modules"), join(root, "node_modules"));
  write("notes.ts", NOTES);
});

afterEach(async () => {
  await backend?.close();
  backend = null;
  rmSync(root, { recursive: true, force: true });
});

const write = (name: string, text: string) => writeFileSync(join(functionsDir, name), text);
const open = async (options: Pick<LocalBackendOptions, "inject"> = {}) =>
  (backend = await localBackend({
    functionsDir,
    dataFile: join(root, "data.sqlite"),
    onReport: () => undefined,
    ...options,
  }));
const reopen = async () => {
  await backend!.close();
  backend = null;
  return open();
};

const NOTES = `
  import { actionGeneric as action, makeFunctionReference, mutationGeneric as mutation, queryGeneric as query } from "convex/server";
  export const add = mutation({ handler: async (ctx, fields) => ctx.db.insert("notes", fields) });
  export const all = query({ handler: async (ctx) => (await ctx.db.query("notes").collect()).map((row) => row.text) });
  export const by = query({ handler: async (ctx, { index, field, value }) =>
    (await ctx.db.query("notes").withIndex(index, (q) => q.eq(field, value)).collect()).map((row) => row.text) });
  export const tick = mutation({ handler: async (ctx) => ctx.db.insert("notes", { text: "tick", at: Date.now() }) });
  export const boom = mutation({ handler: async (ctx) => { await ctx.db.insert("notes", { text: "boom" }); throw new Error("boom"); } });
  export const act = action({ handler: async (ctx) => ctx.runMutation(makeFunctionReference("notes:tick"), {}) });
`;

const schema = (fields: string, indexes = "") => `
  import { defineSchema, defineTable } from "convex/server";
  import { v } from "convex/values";
  export default defineSchema({ notes: defineTable({ text: v.string(), ${fields} })${indexes} });
`;

const crons = (line: string) => `
  import { cronJobs, makeFunctionReference } from "convex/server";
  const f = (name) => makeFunctionReference(name);
  const crons = cronJobs();
  ${line}
  export default crons;
`;

describe("the schema", () => {
  test("a new index is filled from the documents, a dropped one is gone", async () => {
    write("schema.ts", schema("n: v.optional(v.number())", '.index("by_text", ["text"])'));
    await open();
    for (let n = 0; n < 30; n++) await backend!.mutation("notes:add", { text: `t${n % 3}`, n });
    write("schema.ts", schema("n: v.optional(v.number())", '.index("by_n", ["n"])'));
    const { query, mutation } = await reopen();
    expect(await query("notes:by", { index: "by_n", field: "n", value: 7 })).toEqual(["t1"]);
    await mutation("notes:add", { text: "new", n: 7 });
    expect(await query("notes:by", { index: "by_n", field: "n", value: 7 })).toEqual(["t1", "new"]);
    await expect(query("notes:by", { index: "by_text", field: "text", value: "t1" })).rejects.toThrow(
      "Index notes.by_text not found.",
    );
  });

  test("an index that comes back after changes holds what is stored now", async () => {
    const withIndex = schema("n: v.optional(v.number())", '.index("by_n", ["n"])');
    write("schema.ts", withIndex);
    await open();
    await backend!.mutation("notes:add", { text: "a", n: 1 });
    write("schema.ts", schema("n: v.optional(v.number())"));
    await backend!.engine.reload();
    const [row] = await backend!.readAll<{ _id: string; _creationTime: number }>("notes");
    await backend!.patchRow(row!._id, { n: 2 });
    write("schema.ts", withIndex);
    await backend!.engine.reload();
    expect(await backend!.query("notes:by", { index: "by_n", field: "n", value: 1 })).toEqual([]);
    expect(await backend!.query("notes:by", { index: "by_n", field: "n", value: 2 })).toEqual(["a"]);
  });

  test("a stored document that no longer fits is named, and nothing has changed", async () => {
    write("schema.ts", schema("n: v.optional(v.number())", '.index("by_text", ["text"])'));
    await open();
    const id = await backend!.mutation<string>("notes:add", { text: "t", n: 1 });
    write("schema.ts", schema("n: v.string()", '.index("by_n", ["n"])'));
    const refusal = `Document with ID "${id}" in table "notes" does not match the schema: `;
    await expect(backend!.engine.reload()).rejects.toThrow(refusal);
    // Still the rules and indexes of before.
    expect(await backend!.query("notes:by", { index: "by_text", field: "text", value: "t" })).toEqual(["t"]);
    await expect(backend!.mutation("notes:add", { text: 5 })).rejects.toThrow("does not match the schema");
    await backend!.close();
    backend = null;
    await expect(open()).rejects.toThrow(refusal);
    write("schema.ts", schema("n: v.optional(v.number())", '.index("by_n", ["n"])'));
    await open();
    expect(await backend!.query("notes:by", { index: "by_n", field: "n", value: 1 })).toEqual(["t"]);
  });

  test("a table that the schema no longer names keeps its documents and takes no more", async () => {
    write("schema.ts", schema("n: v.optional(v.number())"));
    await open();
    await backend!.mutation("notes:add", { text: "kept" });
    write("schema.ts", schema("n: v.optional(v.number())").replace("notes: define", "others: define"));
    await reopen();
    expect(await backend!.query("notes:all")).toEqual(["kept"]);
    await expect(backend!.mutation("notes:add", { text: "no" })).rejects.toThrow(
      'Table "notes" is not in the schema.',
    );
  });
});

describe("reloading", () => {
  test("new code answers, broken code leaves the old, and transactions in flight are not lost", async () => {
    await open();
    let left = 200;
    const load = Promise.all(
      Array.from({ length: 10 }, async () => {
        while (left-- > 0) await backend!.mutation("notes:add", { text: "x" });
      }),
    );
    write(
      "more.ts",
      `import { queryGeneric as query } from "convex/server"; export const hi = query({ handler: async () => "hi" });`,
    );
    await backend!.engine.reload();
    expect(await backend!.query("more:hi")).toBe("hi");
    write("more.ts", "export const broken = ;");
    await expect(backend!.engine.reload()).rejects.toThrow(/do not build: .*more\.ts:1: /);
    expect(await backend!.query("more:hi")).toBe("hi");
    await load;
    expect(await backend!.query<string[]>("notes:all")).toHaveLength(200);
  });

  test("auth.config is read again; a broken one leaves everything as it is", async () => {
    const issuer = await startTestIssuer();
    try {
      const token = await issuer.sign();
      const engine = (await open()).engine;
      expect(await engine.authenticator.verifyToken(token)).toMatchObject({ code: "NoAuthProvider" });
      const accepting = `export default { providers: [{ domain: "${issuer.url}", applicationID: "convex" }] };`;
      write("auth.config.ts", accepting);
      await engine.reload();
      expect(await engine.authenticator.verifyToken(token)).toMatchObject({ kind: "ok" });
      write("auth.config.ts", `export default { providers: process.env.NOT_SET };`);
      await expect(engine.reload()).rejects.toThrow(
        "Environment variable NOT_SET is used in auth config file",
      );
      expect(await engine.authenticator.verifyToken(token)).toMatchObject({ kind: "ok" });
      write("auth.config.ts", `export default { providers: [] };`);
      await engine.reload();
      expect(await engine.authenticator.verifyToken(token)).toMatchObject({ code: "NoAuthProvider" });
    } finally {
      await issuer.close();
    }
  });

  test("--watch reloads when a file changes", async () => {
    write(
      "value.ts",
      `import { queryGeneric as query } from "convex/server"; export const value = query({ handler: async () => 1 });`,
    );
    const engine = await startEngineProcess({
      "data-file": join(root, "w.sqlite"),
      functions: functionsDir,
      watch: true,
    });
    try {
      const reloaded = new Promise<void>((resolve) => {
        engine.child.stdout!.on("data", () => {
          if (engine.output().includes("functions reloaded")) resolve();
        });
      });
      write(
        "value.ts",
        `import { queryGeneric as query } from "convex/server"; export const value = query({ handler: async () => 2 });`,
      );
      await reloaded;
      const response = await fetch(`${engine.url}/api/query`, {
        method: "POST",
        body: '{"path":"value:value","args":{}}',
      });
      expect(await response.json()).toEqual({ status: "success", value: 2 });
    } finally {
      await engine.kill();
    }
  });
});

describe("cron jobs", () => {
  const ticks = async () => (await backend!.query<string[]>("notes:all")).length;

  test("an interval runs at once, then at every due time", async () => {
    write("crons.ts", crons('crons.interval("tick", { seconds: 10 }, f("notes:tick"));'));
    await open();
    await backend!.engine.settled();
    expect(await ticks()).toBe(1);
    await backend!.advanceMs(35_000);
    expect(await ticks()).toBe(4);
  });

  test.each(["notes:tick", "notes:act"])(
    "runs missed while the engine was down happen once (%s)",
    async (path) => {
      write("crons.ts", crons(`crons.interval("tick", { seconds: 10 }, f("${path}"));`));
      const first = await open();
      await first.advanceMs(5_000);
      expect(await ticks()).toBe(1);
      const startMs = first.nowMs() + 100_000;
      await first.close();
      backend = await localBackend({ functionsDir, dataFile: join(root, "data.sqlite"), startMs });
      await backend.engine.settled();
      expect(await ticks()).toBe(2);
      await backend.advanceMs(10_000);
      expect(await ticks()).toBe(3);
    },
  );

  test("a restart between two runs keeps the rhythm", async () => {
    write("crons.ts", crons('crons.interval("tick", { seconds: 10 }, f("notes:tick"));'));
    const first = await open();
    await first.advanceMs(4_000);
    const startMs = first.nowMs();
    await first.close();
    backend = await localBackend({ functionsDir, dataFile: join(root, "data.sqlite"), startMs });
    await backend.advanceMs(5_000);
    expect(await ticks()).toBe(1);
    await backend.advanceMs(2_000);
    expect(await ticks()).toBe(2);
  });

  test("a job that fails leaves nothing behind and goes on", async () => {
    write(
      "crons.ts",
      crons(
        'crons.interval("boom", { seconds: 10 }, f("notes:boom")); crons.interval("tick", { seconds: 10 }, f("notes:tick"));',
      ),
    );
    await open();
    await backend!.advanceMs(30_000);
    expect(await backend!.query("notes:all")).toEqual(["tick", "tick", "tick", "tick"]);
    expect(await backend!.engine.nextDueMs()).toBe(backend!.nowMs() + 10_000);
  });

  test.each([
    ["before a run", 0],
    ["after it", 2],
  ])("a due time that loses its conflicts %s costs no run", async (_when, firstLost) => {
    write("crons.ts", crons('crons.interval("act", { seconds: 10 }, f("notes:act"));'));
    let commits: number | null = null;
    await open({
      // As many as a mutation of somebody is tried.
      inject: { conflict: () => commits !== null && ++commits > firstLost && commits <= firstLost + 5 },
    });
    await backend!.engine.settled();
    expect(await ticks()).toBe(1);
    commits = 0;
    await backend!.advanceMs(20_000);
    expect(await ticks()).toBe(3);
  });

  test("reloading takes in a changed and a removed job", async () => {
    write("crons.ts", crons('crons.interval("tick", { seconds: 10 }, f("notes:tick"));'));
    await open();
    await backend!.advanceMs(1_000);
    write("crons.ts", crons('crons.interval("tick", { seconds: 60 }, f("notes:tick"));'));
    await backend!.engine.reload();
    await backend!.advanceMs(59_000);
    expect(await ticks()).toBe(2);
    write("crons.ts", crons(""));
    await backend!.engine.reload();
    await backend!.advanceMs(600_000);
    expect(await ticks()).toBe(2);
  });

  test("a job that calls what does not exist is refused when it is loaded", async () => {
    write("crons.ts", crons('crons.interval("tick", { seconds: 10 }, f("notes:nothing"));'));
    await expect(open()).rejects.toThrow(
      'Cron job "tick" calls notes.js:nothing, which is no mutation or action.',
    );
  });
});
