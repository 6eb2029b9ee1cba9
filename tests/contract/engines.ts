import { readdirSync } from "node:fs";
import { join } from "node:path";

import { makeFunctionReference } from "convex/server";
import { convexTest } from "convex-test";
import { vi } from "vitest";

import { actingIdentity } from "../../lib/local-convex/identity.ts";
import { startServer, type RunningServer } from "../../lib/local-convex/server.ts";
import { localBackend } from "../helpers/local-backend.ts";
import schema from "./functions/schema.ts";

/** Somebody who calls functions and HTTP actions. */
export interface ContractCaller {
  query(path: string, args?: Record<string, unknown>): Promise<any>;
  mutation(path: string, args?: Record<string, unknown>): Promise<any>;
  action(path: string, args?: Record<string, unknown>): Promise<any>;
  /** Asks an HTTP action; `path` begins with a slash. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/**
 * One engine under the contract, with the functions of `tests/contract/functions` and an empty database. Called as
 * itself, nobody is signed in.
 */
export interface ContractEngine extends ContractCaller {
  /** Calls as a user with these attributes, of which `issuer` and `subject` are needed. */
  as(identity: Record<string, string>): ContractCaller;
  /** Moves the clock and runs the scheduled functions that fall due. */
  advanceMs(ms: number): Promise<void>;
  close(): Promise<void>;
}

export type EngineName = "local-convex" | "convex-test";

export const FUNCTIONS_DIR = join(import.meta.dirname, "functions");
/** A caller from outside: no internal functions. */
const CLIENT = { admin: false, identity: null, ip: null, userAgent: null };

const ADMIN_KEY = "admin-key-of-the-contract";

export const engines: Record<EngineName, () => Promise<ContractEngine>> = {
  "local-convex": async () => {
    const backend = await localBackend({ functionsDir: FUNCTIONS_DIR, caller: CLIENT });
    let server: RunningServer | null = null;
    const fetchFrom = async (path: string, init: RequestInit = {}): Promise<Response> => {
      server ??= await startServer(backend.engine, { host: "127.0.0.1", port: 0, adminKey: ADMIN_KEY });
      return fetch(`http://127.0.0.1:${server.port}/http${path}`, init);
    };
    return {
      ...backend,
      fetch: fetchFrom,
      as: (attributes) => ({
        ...backend.as({ ...CLIENT, identity: actingIdentity(attributes) }),
        fetch(path, init = {}) {
          const headers = new Headers(init.headers);
          const encoded = Buffer.from(JSON.stringify(attributes)).toString("base64");
          headers.set("authorization", `Convex ${ADMIN_KEY}:${encoded}`);
          return fetchFrom(path, { ...init, headers });
        },
      }),
      async close() {
        await server?.close();
        await backend.close();
      },
    };
  },
  "convex-test": async () => {
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
    const deployment = convexTest({ schema, modules: moduleMap() });
    const callsOf = (mock: Pick<typeof deployment, "query" | "mutation" | "action" | "fetch">) =>
      ({
        query: (path, args = {}) => mock.query(makeFunctionReference<"query">(path), args),
        mutation: (path, args = {}) => mock.mutation(makeFunctionReference<"mutation">(path), args),
        action: (path, args = {}) => mock.action(makeFunctionReference<"action">(path), args),
        fetch: (path, init) => mock.fetch(path, init),
      }) satisfies ContractCaller;
    return {
      ...callsOf(deployment),
      as: (attributes) => callsOf(deployment.withIdentity(attributes)),
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
