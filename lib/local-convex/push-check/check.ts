/**
 * Whether `npx convex deploy` would take a functions folder: its names, its builds, and what its modules export.
 * Argument and return validators are not asked for, as a push does not ask for them either.
 */
import { basename, resolve } from "node:path";
import { readAuthConfig } from "../auth-config.ts";
import { bundleAuthConfig, bundleFunctions } from "../bundle.ts";
import { systemClock } from "../clock.ts";
import { systemHost } from "../host.ts";
import { evaluateBundle, mapStackOf } from "../modules.ts";
import { sandboxGlobals, type SyscallTable } from "../sandbox.ts";
import { runBuilds } from "./builds.ts";
import { findEntryPoints } from "./entry-points.ts";
import type { PushFault } from "./fault.ts";

export interface PushCheck {
  readonly faults: readonly PushFault[];
  /** How many modules would be pushed, schema and auth.config not counted. */
  readonly moduleCount: number;
  /** Environment variables that auth.config reads: a push is refused until the deployment has them. */
  readonly authConfigVariables: readonly string[];
}

/** Names, builds, then exports; the later steps only when the earlier ones found nothing. */
export async function checkPush(functionsFolder: string): Promise<PushCheck> {
  const functionsDir = resolve(functionsFolder);
  const entries = findEntryPoints(functionsDir);
  const builds = await runBuilds(functionsDir, entries);
  const faults = [...entries.faults, ...builds.faults];
  if (faults.length === 0) faults.push(...(await exportFaults(functionsDir, entries.node)));
  const read = new Set(variablesIn(builds.authConfigCode ?? ""));
  if (faults.length === 0) faults.push(...(await authConfigFaults(functionsDir, read)));
  return {
    faults,
    moduleCount: entries.defaultRuntime.length + entries.node.length,
    authConfigVariables: [...read].toSorted(),
  };
}

type Exports = Record<string, Record<string, unknown>>;

async function exportFaults(functionsDir: string, nodePaths: readonly string[]): Promise<PushFault[]> {
  const root = basename(functionsDir);
  const bundles = await bundleFunctions(functionsDir);
  const faults: PushFault[] = [];
  for (const bundle of bundles) {
    let exports: Exports;
    try {
      exports = evaluateBundle(
        bundle,
        sandboxGlobals(NO_SYSCALLS, systemClock, {}, systemHost),
        functionsDir,
      );
    } catch (error) {
      const place = mapStackOf(bundles)(error instanceof Error ? (error.stack ?? "") : "");
      const file = /\.\.\/convex\/([^\s)]+?):(\d+):\d+/.exec(place);
      faults.push({
        file: file === null ? root : `${root}/${file[1]}:${file[2]}`,
        what: `fails when it is loaded: ${error instanceof Error ? error.message : String(error)}`,
        why: "A push loads every module once to see what it exports.",
      });
      continue;
    }
    if (bundle.runtime === "node") faults.push(...nodeFaults(root, nodePaths, exports));
    else faults.push(...configFaults(root, exports));
  }
  return faults;
}

const NO_SYSCALLS: SyscallTable = {
  syscall: refuseSyscall,
  asyncSyscall: async (op) => refuseSyscall(op),
  jsSyscall: refuseSyscall,
};

function refuseSyscall(op: string): never {
  throw new Error(`Can't use database at import time (${op}).`);
}

function nodeFaults(root: string, nodePaths: readonly string[], exports: Exports): PushFault[] {
  return nodePaths.flatMap((path) => {
    const names = Object.entries(exports[path.replace(/\.\w+$/, ".js")] ?? {});
    return names.flatMap(([name, value]) => {
      const fn = value as { isQuery?: true; isMutation?: true; isHttp?: true } | null | undefined;
      const kind = fn?.isQuery ? "query" : fn?.isMutation ? "mutation" : fn?.isHttp ? "HTTP action" : null;
      if (kind === null) return [];
      return {
        file: `${root}/${path}`,
        what: `exports the ${kind} "${name}" and has "use node"`,
        why: "Only actions run in Node. Move it to a file without the directive.",
      };
    });
  });
}

/** The files Convex reads itself must export what it looks for. */
function configFaults(root: string, exports: Exports): PushFault[] {
  const wanted: [path: string, mark: string, maker: string][] = [
    ["http", "isRouter", "httpRouter()"],
    ["crons", "isCrons", "cronJobs()"],
    ["schema", "export", "defineSchema()"],
  ];
  return wanted.flatMap(([path, mark, maker]) => {
    const found = exports[`${path}.js`];
    if (found === undefined) return [];
    const made = found["default"] as Record<string, unknown> | null | undefined;
    if (made?.[mark]) return [];
    return {
      file: `${root}/${path}`,
      what: `has no default export made by ${maker}`,
      why: "Convex looks for it in this file.",
    };
  });
}

/** Reads auth.config as if every variable were set, to an address; adds to `read` those it asks for. */
async function authConfigFaults(functionsDir: string, read: Set<string>): Promise<PushFault[]> {
  const bundle = await bundleAuthConfig(functionsDir);
  if (bundle === null) return [];
  const env = new Proxy<Record<string, string>>(
    {},
    {
      get(_target, name) {
        read.add(String(name));
        return "https://set-at-the-deployment.invalid";
      },
    },
  );
  try {
    readAuthConfig(bundle, sandboxGlobals(NO_SYSCALLS, systemClock, env, systemHost), functionsDir);
    return [];
  } catch (error) {
    return [
      {
        file: `${basename(functionsDir)}/auth.config`,
        what: `is refused: ${error instanceof Error ? error.message : String(error)}`,
        why: "A push loads it to learn who may sign users in.",
      },
    ];
  }
}

/** Variables named in the text: the evaluation may not come by all of them. */
function variablesIn(code: string): string[] {
  const found = code.matchAll(/process\.env(?:\.(\w+)|\[["'](\w+)["']\])/g);
  return [...found].map((match) => match[1] ?? match[2]!);
}
