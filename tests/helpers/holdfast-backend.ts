import { join } from "node:path";

import { SYSTEM_CALLER } from "../../lib/local-convex/invocation.ts";
import { BACKEND_ENV, type Backend, type BackendOptions } from "./backend.ts";
import { foldersTogether } from "./functions-folder.ts";
import { localBackend } from "./local-backend.ts";

/** Holdfast's own functions on the local engine. */
export async function holdfastBackend(options: BackendOptions): Promise<Backend> {
  const { startMs, concurrency = 1, beforeWrite, conflict, env, testFunctions = false, dataFile } = options;
  const backend = await localBackend({
    functionsDir: testFunctions ? foldersTogether() : join(import.meta.dirname, "../../convex"),
    env: { ...BACKEND_ENV, ...env },
    concurrency,
    ...(startMs === undefined ? {} : { startMs }),
    ...(dataFile === undefined ? {} : { dataFile }),
    inject: {
      // Reads that take a moment make transactions overlap, which is what lets them conflict.
      syscallLatencyMs: () => (concurrency > 1 ? 1 : 0),
      ...(beforeWrite === undefined ? {} : { beforeWrite }),
      ...(conflict === undefined ? {} : { conflict }),
    },
  });
  await backend.engine.settled();
  return {
    ...backend,
    as({ subject, permissions = [] }) {
      const identity = { tokenIdentifier: `test|${subject}`, issuer: "test", subject, permissions };
      return backend.as({ ...SYSTEM_CALLER, admin: false, identity });
    },
    conflictCount: () => backend.engine.counts.conflicts,
  };
}
