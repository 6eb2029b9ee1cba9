/**
 * The builds of a real push (facts §8): the default runtime, the Node runtime, and schema and auth.config each on
 * its own. What they give is thrown away; what matters is what does not build. External packages of convex.json
 * are not looked at: everything is bundled.
 */
import { basename, join, posix } from "node:path";
import { build, type BuildOptions, type Message } from "esbuild";
import { shims } from "../bundle-shims.ts";
import type { EntryPoints } from "./entry-points.ts";
import type { PushFault } from "./fault.ts";

export interface Builds {
  readonly faults: readonly PushFault[];
  /** The text of auth.config with all it imports, or null. */
  readonly authConfigCode: string | null;
}

export async function runBuilds(functionsDir: string, entries: EntryPoints): Promise<Builds> {
  const faults = [
    ...(await buildOne(functionsDir, entries.defaultRuntime, "browser")).faults,
    ...(await buildOne(functionsDir, entries.node, "node")).faults,
    ...(await buildOne(functionsDir, entries.schema === null ? [] : [entries.schema], "browser")).faults,
  ];
  const authConfig = entries.authConfig === null ? [] : [entries.authConfig];
  const auth = await buildOne(functionsDir, authConfig, "browser", false);
  // One that schema or auth.config shares with the functions is reported once.
  const all = [...faults, ...auth.faults];
  const once = [...new Map(all.map((fault) => [JSON.stringify(fault), fault])).values()];
  return { faults: once, authConfigCode: auth.code };
}

async function buildOne(
  functionsDir: string,
  paths: readonly string[],
  runtime: "browser" | "node",
  splitting = true,
): Promise<{ faults: PushFault[]; code: string | null }> {
  if (paths.length === 0) return { faults: [], code: null };
  const options: BuildOptions = {
    entryPoints: paths.map((path) => join(functionsDir, path)),
    absWorkingDir: functionsDir,
    outbase: functionsDir,
    outdir: "out",
    write: false,
    bundle: true,
    platform: runtime,
    format: "esm",
    target: "esnext",
    jsx: "automatic",
    conditions: ["convex", "module"],
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [shims(runtime)],
    loader: { ".wasm": "binary" },
    splitting,
    chunkNames: runtime === "node" ? "_deps/node/[hash]" : "_deps/[hash]",
    treeShaking: true,
    minifySyntax: true,
    keepNames: true,
    logLevel: "silent",
  };
  try {
    const { outputFiles } = await build(options);
    return { faults: [], code: outputFiles!.map((file) => file.text).join("\n") };
  } catch (error) {
    const { errors } = error as { errors?: Message[] };
    if (!Array.isArray(errors)) throw error;
    return { faults: errors.map((message) => toFault(functionsDir, message, runtime)), code: null };
  }
}

function toFault(functionsDir: string, message: Message, runtime: "browser" | "node"): PushFault {
  const { location, text, notes } = message;
  const file =
    location === null
      ? basename(functionsDir)
      : `${posix.join(basename(functionsDir), location.file)}:${location.line}`;
  const isNodeBuiltIn = runtime === "browser" && notes.some((note) => note.text.includes("bundle for node"));
  return {
    file,
    what: `does not bundle: ${text}`,
    why: isNodeBuiltIn
      ? 'The default runtime has no Node built-ins. Move what needs them to actions in a file that starts with "use node".'
      : "A push bundles every module with all it imports.",
  };
}
