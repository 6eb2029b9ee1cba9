import {
  isTroubled,
  PERIODIC_WORKERS,
  type PeriodicWorker,
  type WorkerName,
  type WorkerState,
  workerState,
} from "../shared/periodic-workers.ts";
import { convexApi, type Answered } from "./convex-functions.ts";
import type { SpoolState } from "./redirect/spool.ts";
import { BackendError, type ConvexGateway } from "./convex.ts";

type HealthAnswer = Answered<typeof convexApi.health.get>;

interface RunPart {
  readonly status: WorkerState;
  readonly lastGoodAtMs: number | null;
  readonly ageMs: number | null;
  readonly lastStatus: string | null;
  readonly counts: unknown;
}

export interface HealthReport {
  /** `down`: a part that requests need cannot be reached. `degraded`: requests work, a background part is late or fails. */
  readonly status: "ok" | "degraded" | "down";
  /** By the clock of the times in `parts`. */
  readonly atMs: number;
  readonly parts: {
    readonly web: { readonly status: "ok"; readonly uptimeSeconds: number };
    readonly convex: {
      readonly status: "ok" | "down";
      readonly latencyMs: number | null;
      readonly reason?: string;
    };
    /** Where clicks wait for the ledger. `none`: this process keeps no file of them. */
    readonly spool: SpoolState | { readonly status: "none" };
  } & Readonly<Record<WorkerName, RunPart | { readonly status: "unknown" }>>;
}

export interface HealthDeps {
  /** Undefined when the process is not configured, which counts as Convex being down. */
  readonly convex: ConvexGateway | undefined;
  /** Null when this process keeps no spool, or has not answered a click yet. */
  readonly spool: SpoolState | null;
  /** The time of day, for an answer without a backend, whose own time is told otherwise. */
  readonly nowMs: () => number;
  /** A stopwatch. */
  readonly elapsedMs: () => number;
  readonly uptimeSeconds: () => number;
}

/** Asks each part for its state, now. Never throws: a part that does not answer is `down`. */
export async function checkHealth(deps: HealthDeps): Promise<HealthReport> {
  const startedMs = deps.elapsedMs();
  const web = { status: "ok", uptimeSeconds: Math.floor(deps.uptimeSeconds()) } as const;
  const spool = deps.spool ?? ({ status: "none" } as const);
  const down = (reason: string): HealthReport => ({
    status: "down",
    atMs: deps.nowMs(),
    parts: {
      web,
      convex: { status: "down", latencyMs: null, reason },
      spool,
      ...eachWorker(() => ({ status: "unknown" as const })),
    },
  });
  if (!deps.convex) return down("not configured");
  let answer: HealthAnswer;
  try {
    answer = await deps.convex.query(convexApi.health.get, {});
  } catch (error) {
    // The message may name hosts; this answer needs no key, so it says no more than which of the two it was.
    const isRefused = error instanceof BackendError && error.refusedCode !== undefined;
    return down(isRefused ? "this server is refused" : "no answer");
  }
  const latencyMs = Math.round(deps.elapsedMs() - startedMs);
  const workers = eachWorker((worker) => runPart(answer, worker));
  const isDegraded = Object.values(workers).some(({ status }) => isTroubled(status));
  return {
    status: isDegraded || spool.status === "down" ? "degraded" : "ok",
    atMs: answer.nowMs,
    parts: { web, convex: { status: "ok", latencyMs }, spool, ...workers },
  };
}

function eachWorker<Part>(partOf: (worker: PeriodicWorker) => Part): Record<WorkerName, Part> {
  return Object.fromEntries(PERIODIC_WORKERS.map((worker) => [worker.name, partOf(worker)])) as Record<
    WorkerName,
    Part
  >;
}

/** Ages are by the clock of the backend that wrote the times. */
function runPart(answer: HealthAnswer, worker: PeriodicWorker): RunPart {
  const run = answer.runs.find(({ name }) => name === worker.name);
  const lastGoodAtMs = run?.lastGoodAtMs ?? null;
  const ageMs = lastGoodAtMs === null ? null : Math.max(0, answer.nowMs - lastGoodAtMs);
  const status = workerState(worker, run, answer.nowMs);
  return { status, lastGoodAtMs, ageMs, lastStatus: run?.status ?? null, counts: run?.counts ?? null };
}
