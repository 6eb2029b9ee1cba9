// Is the production build in .next the build of these sources? A stamp beside it holds their hash.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync, type Dirent } from "node:fs";
import { join } from "node:path";

const STAMP_FILE = ".next/holdfast-build.json";

/** Everything `next build` reads. Scripts, tests, Convex functions and the engine are not in it: they run from source. */
const SOURCE_FOLDERS = ["app", "convex/_generated", "lib", "public"];
const SOURCE_FILES = [
  "next.config.ts",
  "postcss.config.mjs",
  "proxy.ts",
  "instrumentation.ts",
  "tsconfig.json",
  "package.json",
  "package-lock.json",
];
const NOT_BUILT = new Set(["lib/local-convex"]);

/** A hash over the names and the contents of all sources of the build. */
export function hashSources(root: string, nodeVersion: string = process.version): string {
  const hash = createHash("sha256").update(`node ${nodeVersion}\n`);
  for (const path of sourcePaths(root)) {
    const content = readFileSync(join(root, path));
    hash.update(`${path} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

/** Whether .next holds a finished build of sources with this hash. */
export function isBuilt(root: string, hash: string): boolean {
  if (!existsSync(join(root, ".next/BUILD_ID"))) return false;
  try {
    const stamp: unknown = JSON.parse(readFileSync(join(root, STAMP_FILE), "utf8"));
    return typeof stamp === "object" && stamp !== null && "sources" in stamp && stamp.sources === hash;
  } catch {
    return false;
  }
}

/** Marks the build in .next as that of sources with this hash. `next build` removes the mark when it starts anew. */
export function stampBuild(root: string, hash: string): void {
  writeFileSync(join(root, STAMP_FILE), `${JSON.stringify({ sources: hash })}\n`);
}

function sourcePaths(root: string): string[] {
  const files = SOURCE_FILES.filter((path) => existsSync(join(root, path)));
  return [...files, ...SOURCE_FOLDERS.flatMap((folder) => filesUnder(root, folder))];
}

function filesUnder(root: string, folder: string): string[] {
  if (NOT_BUILT.has(folder) || !existsSync(join(root, folder))) return [];
  const entries: Dirent[] = readdirSync(join(root, folder), { withFileTypes: true });
  // Code unit order: the same on every machine, whatever its locale and its file system.
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesUnder(root, path);
    return entry.isFile() ? [path] : [];
  });
}
