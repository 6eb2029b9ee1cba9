import type { OutOfRange } from "../shared/units.ts";

/** The one metered feature that jobs spend. */
export const FEATURE_TOKENS = "tokens";

/** The kind of a job that names none. */
export const KIND_DEFAULT = "default";

export type EndedStatus = "completed" | "failed" | "cancelled" | "capped" | "expired";
export type JobStatus = "running" | EndedStatus;

/** The outcomes a caller may name when it settles; the other two are the gate's own. */
export type SettleOutcome = "completed" | "failed" | "cancelled";

/** What the step runner does with a job: one charge of `stepUnits` every `stepMs`, then settle as `endAs`. */
export interface RunnerPlan {
  readonly steps: number;
  readonly stepUnits: number;
  readonly stepMs: number;
  readonly endAs: SettleOutcome;
}

/** The facts of a job. The stored document has these fields and more. */
export interface Job {
  readonly key: string;
  readonly fingerprint: string;
  readonly kind: string;
  readonly feature: string;
  readonly status: JobStatus;
  readonly requestedUnits: number;
  /** The hold. Its size outlives the job: after the end it still says what was held. */
  readonly heldUnits: number;
  readonly usedUnits: number;
  /** Units that were reported or tried beyond the hold and never charged. */
  readonly overCapUnits: number;
  /** Number of the last charged step, 0 before the first. */
  readonly step: number;
  /** What the last step was charged, so that a repeat of it can be answered. */
  readonly lastStepUnits: number;
  /** Rises with every take-over; a call with an older fence is from a worker that lost the job. */
  readonly fence: number;
  readonly leaseMs: number;
  readonly leaseExpiresAtMs: number;
  /** The cycle that admitted the job. Its hold and use stay on that cycle's budget. */
  readonly cycle: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  readonly runner: RunnerPlan | null;
}

/** The serial point of an account, feature and cycle. `usedUnits` is settled use only; open use is inside the hold. */
export interface Budget {
  readonly usedUnits: number;
  readonly heldUnits: number;
}

/** A cycle without a budget row. */
export const NOTHING_YET: Budget = { usedUnits: 0, heldUnits: 0 };

export type ProviderName = "fixed" | "kinde";

/** A limit as an answer shows it. `limitUnits` null means unlimited. */
export interface LimitView {
  readonly limitUnits: number | null;
  readonly readAtMs: number;
  /** The read is older than a minute, or a plan change asked for a newer one. */
  readonly stale: boolean;
  readonly provider: ProviderName;
}

/** The numbers that a refusal for want of room carries. */
export interface RoomNumbers {
  readonly requestedUnits: number;
  readonly usedUnits: number;
  readonly heldUnits: number;
  readonly limitUnits: number;
  readonly freeUnits: number;
  readonly nextCycleStartMs: number;
}

export type RoomRefusal =
  | ({ readonly code: "limit_reached" } & RoomNumbers)
  | ({ readonly code: "held_by_running_jobs"; readonly earliestLeaseExpiresAtMs: number } & RoomNumbers);

export interface LimitUnknown {
  readonly code: "limit_unknown";
  readonly retryAfterMs: number;
}

export interface RateLimited {
  readonly code: "rate_limited";
  readonly limitPerMinute: number;
  readonly retryAfterMs: number;
}

export interface KeyConflict {
  readonly code: "key_conflict";
  readonly message: string;
}

/** An invoice is overdue for longer than the operator puts up with. Only new jobs are refused. */
export interface PaymentOverdue {
  readonly code: "payment_overdue";
  readonly overdueSinceMs: number;
  readonly blockedSinceMs: number;
}

/** Every way an admission or extension is turned down by the gate itself. */
export type Refusal = RoomRefusal | LimitUnknown | RateLimited | PaymentOverdue | OutOfRange | KeyConflict;
