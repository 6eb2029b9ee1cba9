/** Which files a real push takes as modules, for which runtime, and which names it refuses (facts §1.5, §6.1, §8). */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { hasUseNode } from "../use-node.ts";
import type { PushFault } from "./fault.ts";

export interface EntryPoints {
  /** Paths below the functions folder, with forward slashes. */
  readonly defaultRuntime: readonly string[];
  readonly node: readonly string[];
  readonly schema: string | null;
  readonly authConfig: string | null;
  readonly faults: readonly PushFault[];
}

const EXTENSION = /\.(ts|tsx|mts|cts|js|jsx|mjs|cjs)$/;
/** Left out on purpose by whoever names them so. */
const KNOWN_TWO_DOTS = /^(auth|convex)\.config\.|\.(test|spec)\.|\.d\.[mc]?ts$/;
const COMPONENT_CHARS_MAX = 64;
/** Modules that Convex itself loads, which it does in the default runtime only. */
const DEFAULT_RUNTIME_ONLY = new Set(["http", "crons", "schema", "auth.config"]);

export function findEntryPoints(functionsDir: string): EntryPoints {
  const faults: PushFault[] = [];
  const root = basename(functionsDir);
  const refuse = (path: string, what: string, why: string): void => {
    faults.push({ file: `${root}/${path}`, what, why });
  };
  const defaultRuntime: string[] = [];
  const node: string[] = [];
  for (const path of filesBelow(functionsDir, "")) {
    if (path.startsWith("_deps/")) {
      refuse(path, "lies in _deps", "The push keeps its own files there. Move it to another folder.");
      continue;
    }
    if (!isCandidate(path)) continue;
    const skipped = skippedBecause(path);
    if (skipped !== null) {
      refuse(path, `is left out of the push: ${skipped}`, "Its functions would not exist. Rename it.");
      continue;
    }
    const source = readFileSync(join(functionsDir, path), "utf8");
    const isTypeScript = /\.tsx?$/.test(path);
    if (isTypeScript && !/^\s{0,100}(import|export)/m.test(source)) continue;
    checkComponents(path, refuse);
    checkRuntime(path, hasUseNode(source), refuse);
    if (path === "schema.ts" || path === "schema.js") continue;
    (hasUseNode(source) ? node : defaultRuntime).push(path);
  }
  const authConfigs = ["auth.config.ts", "auth.config.js"].filter((name) =>
    existsSync(join(functionsDir, name)),
  );
  if (authConfigs.length > 1) {
    refuse("auth.config.js", "lies beside auth.config.ts", "There may be only one. Delete the other.");
  }
  for (const name of authConfigs) {
    checkRuntime(name, hasUseNode(readFileSync(join(functionsDir, name), "utf8")), refuse);
  }
  const schema = ["schema.ts", "schema.js"].find((name) => existsSync(join(functionsDir, name)));
  return { defaultRuntime, node, schema: schema ?? null, authConfig: authConfigs[0] ?? null, faults };
}

function filesBelow(functionsDir: string, folder: string): string[] {
  return readdirSync(join(functionsDir, folder), { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (!entry.isDirectory()) return entry.isFile() ? [path] : [];
      // A folder with its own convex.config is a component, which is pushed apart.
      return existsSync(join(functionsDir, path, "convex.config.ts")) ? [] : filesBelow(functionsDir, path);
    });
}

function isCandidate(path: string): boolean {
  const name = basename(path);
  return (
    EXTENSION.test(name) &&
    !path.startsWith("_generated/") &&
    !/^[.#]/.test(name) &&
    !KNOWN_TWO_DOTS.test(name)
  );
}

function skippedBecause(path: string): string | null {
  if (basename(path).split(".").length > 2) return "its name has two dots";
  return path.includes(" ") ? "its path has a space" : null;
}

type Refuse = (path: string, what: string, why: string) => void;

function checkComponents(path: string, refuse: Refuse): void {
  for (const component of path.replace(EXTENSION, ".js").split("/")) {
    if (!/^[A-Za-z0-9_.]+$/.test(component)) {
      refuse(
        path,
        `has a character in "${component}" that module paths may not have`,
        'Only letters, digits, "_" and "." are accepted: no hyphen. Write it in camelCase.',
      );
    } else if (!/[A-Za-z0-9]/.test(component)) {
      refuse(path, `has no letter or digit in "${component}"`, "Every part of a module path needs one.");
    }
    if (component.length > COMPONENT_CHARS_MAX) {
      refuse(
        path,
        `has a part of ${component.length} characters`,
        `Each part of a module path, ".js" included, may have ${COMPONENT_CHARS_MAX}.`,
      );
    }
  }
}

function checkRuntime(path: string, usesNode: boolean, refuse: Refuse): void {
  if (usesNode && DEFAULT_RUNTIME_ONLY.has(path.replace(EXTENSION, ""))) {
    refuse(
      path,
      'has "use node"',
      "Convex loads this file itself, in the default runtime. Remove the directive.",
    );
  }
  if (!usesNode && path.startsWith("actions/")) {
    refuse(
      path,
      'lies in actions/ and has no "use node"',
      "All files of that folder need it. Add it or move the file.",
    );
  }
}
