import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const CONVEX = join(import.meta.dirname, "../../convex");
const TEST_FUNCTIONS = join(import.meta.dirname, "functions");
/** Files whose default export is what the engine looks for. */
const WITH_DEFAULT = new Set(["schema.ts", "crons.ts", "auth.config.ts", "http.ts"]);

let folder: string | null = null;

/** A folder of functions with everything in `convex/` and the functions that only tests have beside it. */
export function foldersTogether(): string {
  if (folder !== null) return folder;
  const made = mkdtempSync(join(tmpdir(), "holdfast-functions-"));
  process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  for (const from of [CONVEX, TEST_FUNCTIONS]) {
    for (const name of readdirSync(from)) {
      if (!name.endsWith(".ts")) continue;
      const source = JSON.stringify(join(from, name));
      const text = WITH_DEFAULT.has(name)
        ? `export { default } from ${source};\n`
        : `export * from ${source};\n`;
      writeFileSync(join(made, name), text);
    }
  }
  folder = made;
  return made;
}
