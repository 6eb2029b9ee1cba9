/**
 * Bundles the functions folder with esbuild, the options following the official CLI (facts §8): one bundle
 * for the default runtime and one for modules that start with "use node".
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { build, type BuildOptions } from "esbuild";

export interface Bundle {
  runtime: "default" | "node";
  /** CommonJS text whose `module.exports` maps a module path (`dir/file.js`) to its exports. */
  code: string;
  sourceMap: string;
}

const EXTENSIONS = /\.(ts|tsx|mts|cts|js|jsx|mjs|cjs)$/;

/** Module files below the functions folder, as relative paths with forward slashes, sorted. */
export function listModules(functionsDir: string): string[] {
  return readdirSync(functionsDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(functionsDir, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => {
      const name = path.split("/").at(-1)!;
      const isModule = EXTENSIONS.test(name) && !name.endsWith(".d.ts");
      const oneDot = !name.replace(EXTENSIONS, "").includes(".") || name.startsWith("auth.config.");
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
  const usesNode = (path: string): boolean =>
    /^\s*["']use node["']/.test(readFileSync(join(functionsDir, path), "utf8"));
  const nodeModules = modules.filter(usesNode);
  const defaultModules = modules.filter((path) => !nodeModules.includes(path));
  const bundles: Bundle[] = [];
  if (defaultModules.length > 0) bundles.push(await bundleRuntime(functionsDir, defaultModules, "default"));
  if (nodeModules.length > 0) bundles.push(await bundleRuntime(functionsDir, nodeModules, "node"));
  return bundles;
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
  const options: BuildOptions = {
    stdin: { contents: entry, resolveDir: functionsDir, sourcefile: "functions-entry.js", loader: "js" },
    absWorkingDir: functionsDir,
    bundle: true,
    write: false,
    format: "cjs",
    outfile: "functions.js",
    target: "node20",
    jsx: "automatic",
    platform: runtime === "node" ? "node" : "browser",
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
