/// <reference types="vite/client" />
import { makeFunctionReference } from "convex/server";
import type { GenericId } from "convex/values";
import { convexTest } from "convex-test";
import { vi } from "vitest";

import crons from "../../convex/crons";
import schema from "../../convex/schema";
import { must } from "../../lib/shared/assert.ts";
import { BACKEND_ENV, type Backend, type BackendOptions, START_MS, type StoredRow } from "./backend.ts";

const modules = {
  ...import.meta.glob("../../convex/**/*.*s"),
  "../../convex/testLedger.ts": () => import("./functions/testLedger.ts"),
  "../../convex/testRows.ts": () => import("./functions/testRows.ts"),
};

interface Cron {
  readonly path: string;
  readonly everyMs: number;
  dueAtMs: number;
}

/** The official in-memory mock. It runs no crons and knows no clock, so both are played here with fake timers. */
export async function convexTestBackend({ startMs = START_MS, env = {} }: BackendOptions): Promise<Backend> {
  vi.useFakeTimers({
    now: startMs,
    toFake: ["Date", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
  });
  for (const [name, value] of Object.entries({ ...BACKEND_ENV, ...env })) vi.stubEnv(name, value);
  const deployment = convexTest({ schema, modules });
  const schedule = readCrons();

  async function nextScheduledMs(): Promise<number> {
    const pending = await deployment.run(async (ctx) => {
      const rows = await ctx.db.system.query("_scheduled_functions").collect();
      return rows.filter((row) => row.state.kind === "pending").map((row) => row.scheduledTime);
    });
    return Math.min(...pending, Number.POSITIVE_INFINITY);
  }

  async function moveTo(instantMs: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(Math.max(0, instantMs - Date.now()));
    await deployment.finishInProgressScheduledFunctions();
  }

  const backend: Backend = {
    query: (path, args) => deployment.query(makeFunctionReference<"query">(path), args),
    mutation: (path, args) => deployment.mutation(makeFunctionReference<"mutation">(path), args),
    action: (path, args) => deployment.action(makeFunctionReference<"action">(path), args),
    as({ subject, permissions = [] }) {
      const user = deployment.withIdentity({ subject, permissions });
      return {
        query: (path, args) => user.query(makeFunctionReference<"query">(path), args),
        mutation: (path, args) => user.mutation(makeFunctionReference<"mutation">(path), args),
        action: (path, args) => user.action(makeFunctionReference<"action">(path), args),
      };
    },
    nowMs: () => Date.now(),
    async advanceMs(ms) {
      const targetMs = Date.now() + ms;
      for (;;) {
        const cron = schedule.reduce((first, next) => (next.dueAtMs < first.dueAtMs ? next : first));
        const scheduledMs = await nextScheduledMs();
        const nextMs = Math.min(cron.dueAtMs, scheduledMs);
        if (nextMs > targetMs) break;
        await moveTo(nextMs);
        if (cron.dueAtMs > nextMs) continue;
        cron.dueAtMs += cron.everyMs;
        await runCron(cron.path);
      }
      await moveTo(targetMs);
    },
    async readAll<Row extends StoredRow>(table: string) {
      const rows = await deployment.run<StoredRow[]>((ctx) =>
        table === "_scheduled_functions"
          ? ctx.db.system.query("_scheduled_functions").collect()
          : ctx.db.query(table as "jobs").collect(),
      );
      return rows as Row[];
    },
    async patchRow(id, fields) {
      await deployment.run((ctx) => ctx.db.patch(id as GenericId<"jobs">, fields));
    },
    conflictCount: () => 0,
    async close() {
      vi.unstubAllEnvs();
      vi.useRealTimers();
    },
  };
  // As on a real deployment, the first run of an interval is due when it is deployed.
  await backend.advanceMs(0);
  return backend;

  /** A cron that fails is the engine's to log; the next one is due all the same. */
  async function runCron(path: string): Promise<void> {
    const kind = path === "labPurge:run" ? "mutation" : "action";
    if (kind === "mutation") await deployment.mutation(makeFunctionReference<"mutation">(path), {});
    else await deployment.action(makeFunctionReference<"action">(path), {}).catch(() => {});
  }
}

function readCrons(): Cron[] {
  const unitsMs = { seconds: 1_000, minutes: 60_000, hours: 3_600_000 };
  const intervals = Object.values(crons.crons).filter(({ schedule }) => schedule.type === "interval");
  return intervals.map(({ name, schedule }) => {
    const everyMs = Object.entries(unitsMs).reduce((sum, [unit, unitMs]) => {
      const count = (schedule as unknown as Record<string, unknown>)[unit];
      return typeof count === "number" ? sum + count * unitMs : sum;
    }, 0);
    return { path: must(name, "a cron names its function"), everyMs, dueAtMs: Date.now() };
  });
}
