import { readdirSync } from "node:fs";
import { join } from "node:path";

import { makeFunctionReference } from "convex/server";
import { convexTest } from "convex-test";
import { vi } from "vitest";

import { localBackend } from "../helpers/local-backend.ts";
import schema from "./functions/schema.ts";

/** One engine under the contract, with the functions of `tests/contract/functions` and an empty database. */
export interface ContractEngine {
  query(path: string, args?: Record<string, unknown>): Promise<any>;
  mutation(path: string, args?: Record<string, unknown>): Promise<any>;
  action(path: string, args?: Record<string, unknown>): Promise<any>;
  /** Moves the clock and runs the scheduled functions that fall due. */
  advanceMs(ms: number): Promise<void>;
  close(): Promise<void>;
}

export type EngineName = "local-convex" | "convex-test";

export const FUNCTIONS_DIR = join(import.meta.dirname, "functions");
/** A caller from outside: no internal functions. */
const CLIENT = { admin: false, identity: null, ip: null, userAgent: null };

export const engines: Record<EngineName, () => Promise<ContractEngine>> = {
  "local-convex": () => localBackend({ functionsDir: FUNCTIONS_DIR, caller: CLIENT }),
  "convex-test": async () => {
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
    const deployment = convexTest({ schema, modules: moduleMap() });
    return {
      query: (path, args = {}) => deployment.query(makeFunctionReference<"query">(path), args),
      mutation: (path, args = {}) => deployment.mutation(makeFunctionReference<"mutation">(path), args),
      action: (path, args = {}) => deployment.action(makeFunctionReference<"action">(path), args),
      async advanceMs(ms) {
        await vi.advanceTimersByTimeAsync(ms);
        await deployment.finishInProgressScheduledFunctions();
      },
      async close() {
        vi.useRealTimers();
      },
    };
  },
};

/** What `import.meta.glob` would give; the mock finds the root by the `_generated` folder. */
function moduleMap(): Record<string, () => Promise<Record<string, unknown>>> {
  const files = readdirSync(FUNCTIONS_DIR).filter((name) => name.endsWith(".ts"));
  const entries = files.map((name) => {
    const load = () =>
      import(/* @vite-ignore */ join(FUNCTIONS_DIR, name)) as Promise<Record<string, unknown>>;
    return [`/${name}`, load] as const;
  });
  return { ...Object.fromEntries(entries), "/_generated/api.ts": async () => ({}) };
}
