import { DAY_MS } from "../shared/durations.ts";
import type { Job, JobStatus } from "./types.ts";

/** Estimates look back this far by the end of the lease, and at this many jobs of an account, the newest first. */
export const ESTIMATE_SPAN_MS = 30 * DAY_MS;
export const ESTIMATE_JOBS_MAX = 2_000;

/** Jobs that ran to an end of their own. Killed and failed ones tell nothing about cost. */
export const STATUSES_THAT_TELL_COST = ["completed", "capped"] as const satisfies readonly JobStatus[];

/** What jobs of one kind really cost. Shares are of the hold, 0 to 1. */
export interface KindEstimate {
  readonly kind: string;
  readonly jobs: number;
  readonly p50UsedUnits: number;
  readonly p90UsedUnits: number;
  readonly p99UsedUnits: number;
  readonly p50UsedShare: number;
  readonly p90UsedShare: number;
  readonly cappedShare: number;
  /** Units that were held and came back: room that nobody else could use meanwhile. */
  readonly lockedUnits: number;
  /** A hold that nine in ten such jobs would have fitted into, what capped ones still wanted included. */
  readonly suggestedUnits: number;
}

type Sample = Pick<Job, "kind" | "status" | "heldUnits" | "usedUnits" | "overCapUnits">;

/** One estimate for each kind that has a sample, by name. */
export function estimateKinds(jobs: readonly Sample[]): KindEstimate[] {
  const byKind = new Map<string, Sample[]>();
  for (const job of jobs) {
    if (!STATUSES_THAT_TELL_COST.some((status) => status === job.status)) continue;
    const group = byKind.get(job.kind);
    if (group === undefined) byKind.set(job.kind, [job]);
    else group.push(job);
  }
  return [...byKind]
    .map(([kind, group]) => estimateKind(kind, group))
    .toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
}

function estimateKind(kind: string, jobs: readonly Sample[]): KindEstimate {
  const used = ascending(jobs.map((job) => job.usedUnits));
  const shares = ascending(jobs.map((job) => job.usedUnits / job.heldUnits));
  const wanted = ascending(jobs.map((job) => job.usedUnits + job.overCapUnits));
  return {
    kind,
    jobs: jobs.length,
    p50UsedUnits: quantile(used, 0.5),
    p90UsedUnits: quantile(used, 0.9),
    p99UsedUnits: quantile(used, 0.99),
    p50UsedShare: quantile(shares, 0.5),
    p90UsedShare: quantile(shares, 0.9),
    cappedShare: jobs.filter((job) => job.status === "capped").length / jobs.length,
    lockedUnits: jobs.reduce((sum, job) => sum + (job.heldUnits - job.usedUnits), 0),
    suggestedUnits: Math.max(1, quantile(wanted, 0.9)),
  };
}

/** The smallest value that at least `share` of the sample does not pass (nearest rank): always a real observation. */
export function quantile(sorted: readonly number[], share: number): number {
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[rank - 1] ?? 0;
}

function ascending(values: readonly number[]): number[] {
  return values.toSorted((a, b) => a - b);
}
