import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { makeFunctionReference } from "convex/server";
import { afterEach, beforeEach, expect, test } from "vitest";

import { syncBackend, until, type SyncBackend } from "../../helpers/sync-backend.ts";

const NOTES = `
  import { mutationGeneric as mutation, queryGeneric as query } from "convex/server";
  export const add = mutation({ handler: async (ctx, { text }) => ctx.db.insert("notes", { text }) });
  export const all = query({ handler: async (ctx) => (await ctx.db.query("notes").collect()).map((row) => row.text) });
`;

let root: string;
let sync: SyncBackend;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "schemaless-"));
  const functionsDir = join(root, "convex");
  mkdirSync(functionsDir);
  symlinkSync(join(import.meta.dirname, "..", "..", "..", "node_modules"), join(root, "node_modules"));
  writeFileSync(join(functionsDir, "notes.ts"), NOTES);
  sync = await syncBackend({ functionsDir });
});

afterEach(async () => {
  await sync.close();
  rmSync(root, { recursive: true, force: true });
});

test("a subscription to a table that does not exist yet hears of its first row", async () => {
  const seen: string[][] = [];
  sync
    .client()
    .onUpdate(makeFunctionReference<"query">("notes:all"), {}, (rows: string[]) => seen.push(rows));
  await until(() => seen.length === 1);
  await sync.backend.mutation("notes:add", { text: "first" });
  await until(() => seen.length === 2);
  expect(seen).toEqual([[], ["first"]]);
});
