import { MINUTE_MS, HOUR_MS } from "../shared/durations.ts";
import { convexApi, type Answered } from "./convex-functions.ts";
import { BackendError, type ConvexGateway } from "./convex.ts";

/** The sweeper runs every 15 s; four missed runs in a row are worth a look. */
const SWEEPER_LATE_AFTER_MS = MINUTE_MS;
/** The audit runs hourly. */
const AUDIT_LATE_AFTER_MS = 2 * HOUR_MS;

type HealthAnswer = Answered<typeof convexApi.health.get>;

/** `waiting`: it has not had a good run yet. `late`: its last good run is too long ago. */
type RunStatus = "ok" | "waiting" | "late";

interface RunPart {
  readonly status: RunStatus;
  readonly lastGoodAtMs: number | null;
  readonly ageMs: number | null;
  readonly lastStatus: string | null;
  readonly counts: unknown;
}

export interface HealthReport {
  /** `down`: a part that requests need cannot be reached. `degraded`: requests work, a background part is late. */
  readonly status: "ok" | "degraded" | "down";
  readonly atMs: number;
  readonly parts: {
    readonly web: { readonly status: "ok"; readonly uptimeSeconds: number };
    readonly convex: {
      readonly status: "ok" | "down";
      readonly latencyMs: number | null;
      readonly reason?: string;
    };
    readonly sweeper: RunPart | { readonly status: "unknown" };
    readonly audit: RunPart | { readonly status: "unknown" };
  };
}

export interface HealthDeps {
  /** Undefined when the process is not configured, which counts as Convex being down. */
  readonly convex: ConvexGateway | undefined;
  readonly nowMs: () => number;
  readonly uptimeSeconds: () => number;
}

/** Asks each part for its state, now. Never throws: a part that does not answer is `down`. */
export async function checkHealth(deps: HealthDeps): Promise<HealthReport> {
  const startedAtMs = deps.nowMs();
  const web = { status: "ok", uptimeSeconds: Math.floor(deps.uptimeSeconds()) } as const;
  const down = (reason: string): HealthReport => ({
    status: "down",
    atMs: startedAtMs,
    parts: {
      web,
      convex: { status: "down", latencyMs: null, reason },
      sweeper: { status: "unknown" },
      audit: { status: "unknown" },
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
  const latencyMs = Math.max(0, deps.nowMs() - startedAtMs);
  const sweeper = runPart(answer, "sweeper", SWEEPER_LATE_AFTER_MS);
  const audit = runPart(answer, "audit", AUDIT_LATE_AFTER_MS);
  const isLate = sweeper.status === "late" || audit.status === "late";
  return {
    status: isLate ? "degraded" : "ok",
    atMs: startedAtMs,
    parts: { web, convex: { status: "ok", latencyMs }, sweeper, audit },
  };
}

/** Ages are by the clock of the backend that wrote the times. */
function runPart(answer: HealthAnswer, name: string, lateAfterMs: number): RunPart {
  const run = answer.runs.find((candidate) => candidate.name === name);
  const lastGoodAtMs = run?.lastGoodAtMs ?? null;
  const ageMs = lastGoodAtMs === null ? null : Math.max(0, answer.nowMs - lastGoodAtMs);
  const status = ageMs === null ? "waiting" : ageMs > lateAfterMs ? "late" : "ok";
  return { status, lastGoodAtMs, ageMs, lastStatus: run?.status ?? null, counts: run?.counts ?? null };
}
