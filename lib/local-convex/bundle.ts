/**
 * Bundles the functions folder with esbuild, the options following the official CLI (facts §8): one bundle
 * for the default runtime and one for modules that start with "use node". `auth.config` is built on its own.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { shims } from "./bundle-shims.ts";
import { hasUseNode } from "./use-node.ts";

export interface Bundle {
  runtime: "default" | "node";
  /** CommonJS text whose `module.exports` maps a module path (`dir/file.js`) to its exports. */
  code: string;
  sourceMap: string;
}

const EXTENSIONS = /\.(ts|tsx|mts|cts|js|jsx|mjs|cjs)$/;

/** Module files below the functions folder, as relative paths with forward slashes, sorted. */
export function listModules(functionsDir: string): string[] {
  const files = readdirSync(functionsDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(functionsDir, join(entry.parentPath, entry.name)).split(sep).join("/"));
  const components = files
    .filter((path) => path.endsWith("/convex.config.ts"))
    .map((path) => path.slice(0, -"convex.config.ts".length));
  return files
    .filter((path) => {
      if (components.some((folder) => path.startsWith(folder))) return false;
      const name = path.split("/").at(-1)!;
      const isModule = EXTENSIONS.test(name) && !name.endsWith(".d.ts");
      const oneDot = !name.replace(EXTENSIONS, "").includes(".");
      return (
        isModule && oneDot && !path.startsWith("_generated/") && !/^[.#]/.test(name) && !path.includes(" ")
      );
    })
    .toSorted();
}

/** Bundles everything; throws one Error naming file and line when the code does not build. */
export async function bundleFunctions(functionsDir: string): Promise<Bundle[]> {
  const modules = listModules(functionsDir);
  const hyphenated = modules.find((path) => !/^[A-Za-z0-9_./]+$/.test(path));
  if (hyphenated !== undefined) {
    throw new Error(
      `${join(functionsDir, hyphenated)}: Convex accepts only letters, digits, "_" and "." in file names.`,
    );
  }
  const usesNode = (path: string): boolean => hasUseNode(readFileSync(join(functionsDir, path), "utf8"));
  const nodeModules = modules.filter(usesNode);
  const defaultModules = modules.filter((path) => !nodeModules.includes(path));
  const bundles: Bundle[] = [];
  if (defaultModules.length > 0) bundles.push(await bundleRuntime(functionsDir, defaultModules, "default"));
  if (nodeModules.length > 0) bundles.push(await bundleRuntime(functionsDir, nodeModules, "node"));
  return bundles;
}

/** A functions folder, ready to be loaded. */
export interface FunctionsBuild {
  functions: Bundle[];
  /** Null when there is no `auth.config`. */
  authConfig: Bundle | null;
}

export async function buildFunctions(functionsDir: string): Promise<FunctionsBuild> {
  const authConfig = await bundleAuthConfig(functionsDir);
  return { functions: await bundleFunctions(functionsDir), authConfig };
}

/** The path of `auth.config` in the folder, or null. @throws Error when there are two */
export function findAuthConfig(functionsDir: string): string | null {
  const found = ["auth.config.ts", "auth.config.js"].filter((name) => existsSync(join(functionsDir, name)));
  if (found.length > 1) throw new Error(`${functionsDir}: found both ${found.join(" and ")}, choose one.`);
  return found[0] ?? null;
}

/** Bundles `auth.config`; null when there is none. */
export async function bundleAuthConfig(functionsDir: string): Promise<Bundle | null> {
  const path = findAuthConfig(functionsDir);
  return path === null ? null : bundleRuntime(functionsDir, [path], "default");
}

async function bundleRuntime(
  functionsDir: string,
  modules: string[],
  runtime: Bundle["runtime"],
): Promise<Bundle> {
  const entry = modules
    .map(
      (path) =>
        `export * as ${JSON.stringify(path.replace(EXTENSIONS, ".js"))} from ${JSON.stringify(`./${path}`)};`,
    )
    .join("\n");
  const platform = runtime === "node" ? "node" : "browser";
  const options: BuildOptions = {
    stdin: { contents: entry, resolveDir: functionsDir, sourcefile: "functions-entry.js", loader: "js" },
    absWorkingDir: functionsDir,
    bundle: true,
    write: false,
    format: "cjs",
    outfile: "functions.js",
    target: "node20",
    jsx: "automatic",
    platform,
    plugins: [shims(platform)],
    conditions: ["convex", "module"],
    define: { "process.env.NODE_ENV": '"production"' },
    sourcemap: "external",
    sourcesContent: false,
    logLevel: "silent",
    logOverride: { "empty-import-meta": "silent" },
  };
  const result = await build(options).catch((error: unknown) => {
    throw describeBuildError(error);
  });
  const text = (ending: string): string =>
    result.outputFiles!.find((file) => file.path.endsWith(ending))!.text;
  return { runtime, code: text("functions.js"), sourceMap: text("functions.js.map") };
}

function describeBuildError(error: unknown): Error {
  const errors = (error as { errors?: { text: string; location: { file: string; line: number } | null }[] })
    .errors;
  const first = errors?.[0];
  if (first === undefined) return error instanceof Error ? error : new Error(String(error));
  const place = first.location === null ? "" : `${first.location.file}:${first.location.line}: `;
  return new Error(`The functions do not build: ${place}${first.text}`);
}
