// An engine in this process on a throw-away database, with the real Convex functions or a bench's own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine, type EngineOptions } from "../../lib/local-convex/engine.ts";
import type { ExecutorCounts } from "../../lib/local-convex/executor.ts";
import type { JsonObject } from "../../lib/local-convex/values/json.ts";
import { ROOT } from "./root.ts";
import { hashApiKey } from "../../lib/server/api-keys.ts";

export type Call = <T>(path: string, args: JsonObject) => Promise<T>;

export interface LocalEngine {
  readonly query: Call;
  readonly mutation: Call;
  readonly action: Call;
  /** What a `server*` function takes from an operator: server secret and key hash of this engine. */
  readonly operator: { readonly serverSecret: string; readonly keyHash: string };
  readonly serverSecret: string;
  /** Transactions, conflicts and flushes so far. */
  counts(): Readonly<ExecutorCounts>;
  close(): Promise<void>;
}

/** Nothing outside this process can reach the engine, so its secrets need not be secret. */
const SERVER_SECRET = "local-engine-server-secret";
/** What `convex/auth.config.ts` needs; nobody signs in here, so nothing has to listen there. */
const KINDE_ISSUER_URL = "http://127.0.0.1:3220";
const OPERATOR_KEY_HASH = hashApiKey("local-engine-operator-key");

/** What such an engine is started with, for one that is a process of its own. */
export const engineEnvironment = {
  env: {
    HOLDFAST_SERVER_SECRETS: SERVER_SECRET,
    HOLDFAST_OPERATOR_KEY_HASH: OPERATOR_KEY_HASH,
    HOLDFAST_SHORT_URL: "http://127.0.0.1:3000",
    KINDE_ISSUER_URL,
  },
  operator: { serverSecret: SERVER_SECRET, keyHash: OPERATOR_KEY_HASH },
};

/** Opens an engine on `dataFile`. `functions` is a folder relative to the repository. */
export async function openEngine(
  dataFile: string,
  functions = "convex",
  more: Pick<EngineOptions, "clock" | "concurrency" | "inject"> = {},
): Promise<LocalEngine> {
  const engine = await createEngine({
    dataFile,
    functionsDir: join(ROOT, functions),
    env: engineEnvironment.env,
    ...more,
  });
  return {
    query: async (path, args) => JSON.parse((await engine.query(path, args)).valueText),
    mutation: async (path, args) => JSON.parse((await engine.mutation(path, args)).valueText),
    action: async (path, args) => JSON.parse((await engine.action(path, args)).valueText),
    operator: engineEnvironment.operator,
    serverSecret: SERVER_SECRET,
    counts: () => ({ ...engine.counts }),
    close: () => engine.close(),
  };
}

/** Runs `work` with a folder that is removed afterwards, whatever happens. */
export async function withTempFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
