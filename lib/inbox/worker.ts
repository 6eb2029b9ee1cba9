import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../shared/durations.ts";
import type { Outcome } from "./handlers.ts";

/** How many due events one run takes, the oldest event time first. */
export const CLAIM_BATCH_MAX = 25;
/** A worker holds an event this long. Applying one is a single transaction, so this is many times what it takes. */
export const LEASE_MS = 30 * SECOND_MS;
/** The waits after the first five attempts. The sixth failure ends it. */
export const RETRY_WAITS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
] as const;
export const ATTEMPTS_MAX = RETRY_WAITS_MS.length + 1;
/** A copy brings the next attempt forward after this many failures at most, or a burst of copies would use them all up. */
const HURRY_ATTEMPTS_MAX = 2;
const STOPPED = "the worker stopped before it told what became of the attempt";

export type EventStatus =
  /** Stored, or asked for again: due. */
  | "received"
  /** A worker holds it until its lease ends; an ended lease makes it due. */
  | "processing"
  | "applied"
  | "ignored"
  /** Due again at `nextAttemptAtMs`. */
  | "failed"
  /** Out of attempts, or an attempt cannot help. Only a replay makes it due. */
  | "dead"
  /** Too far from its own time. Only a replay by an operator makes it due. */
  | "quarantined";

/** Where a stored event is on its way. Its identity and body never change and are not in here. */
export interface EventProgress {
  readonly status: EventStatus;
  /** Since it was received or replayed; counted when an attempt starts, so that one which kills its worker counts. */
  readonly attempts: number;
  /** The number of the last claim. It grows for ever, so a worker of an older claim is always told apart. */
  readonly fence: number;
  /** When it is due; null when it is not. For a claimed one the end of its lease. */
  readonly nextAttemptAtMs: number | null;
  /** Deliveries so far, the first one included. */
  readonly seenCount: number;
  /** Note of an applied event, reason of an ignored, quarantined or malformed one. */
  readonly result: string | null;
  readonly error: string | null;
  /** When it was applied first. Stays through replays. */
  readonly appliedAtMs: number | null;
}

export function newProgress(
  status: "received" | "quarantined" | "dead",
  reason: string | null,
  nowMs: number,
): EventProgress {
  return {
    status,
    attempts: 0,
    fence: 0,
    nextAttemptAtMs: status === "received" ? nowMs : null,
    seenCount: 1,
    result: reason,
    error: null,
    appliedAtMs: null,
  };
}

export type Claim =
  | { readonly kind: "claimed"; readonly progress: EventProgress; readonly fence: number }
  /** The last attempt of six ended with its worker. */
  | { readonly kind: "dead"; readonly progress: EventProgress }
  | { readonly kind: "not_due" };

/** Takes an event for one worker. An event is due at its instant, and a lease ends at its instant. */
export function claim(event: EventProgress, nowMs: number): Claim {
  if (event.nextAttemptAtMs === null || nowMs < event.nextAttemptAtMs) return { kind: "not_due" };
  if (event.attempts >= ATTEMPTS_MAX) return { kind: "dead", progress: died(event, STOPPED) };
  const fence = event.fence + 1;
  const progress: EventProgress = {
    ...event,
    status: "processing",
    attempts: event.attempts + 1,
    fence,
    nextAttemptAtMs: nowMs + LEASE_MS,
    error: event.status === "processing" ? STOPPED : event.error,
  };
  return { kind: "claimed", progress, fence };
}

/** The lease of `fence` for another 30 s; null when it has ended or the event is another worker's. */
export function renew(event: EventProgress, fence: number, nowMs: number): EventProgress | null {
  return holdsLease(event, fence, nowMs) ? { ...event, nextAttemptAtMs: nowMs + LEASE_MS } : null;
}

/**
 * The event with its outcome; null when the lease is lost, and then nothing of the attempt may be written. Asked in the
 * transaction that writes the effects. An event that was applied once stays applied: its replay finds nothing to do,
 * and that is no reason to call it ignored.
 */
export function finish(
  event: EventProgress,
  fence: number,
  outcome: Outcome,
  nowMs: number,
): EventProgress | null {
  if (!holdsLease(event, fence, nowMs)) return null;
  if (outcome.kind === "permanent") return died(event, outcome.message);
  const done = { ...event, nextAttemptAtMs: null, error: null };
  if (event.appliedAtMs !== null) return { ...done, status: "applied" };
  return outcome.kind === "ignored"
    ? { ...done, status: "ignored", result: outcome.reason }
    : { ...done, status: "applied", result: outcome.note, appliedAtMs: nowMs };
}

/** The event after an attempt that threw; null when the lease is lost, since another worker has it then. */
export function fail(
  event: EventProgress,
  fence: number,
  error: string,
  nowMs: number,
): EventProgress | null {
  if (!holdsLease(event, fence, nowMs)) return null;
  const waitMs = RETRY_WAITS_MS[event.attempts - 1];
  if (waitMs === undefined) return died(event, error);
  return { ...event, status: "failed", nextAttemptAtMs: nowMs + waitMs, error };
}

/**
 * The event after one more delivery of it. A copy of one that waits after its first or second failure makes it due: a
 * sender who tries again is a sign that the trouble may be over. It never takes a lease away.
 */
export function withCopy(event: EventProgress, nowMs: number): EventProgress {
  const seenCount = event.seenCount + 1;
  const hurries = event.status === "failed" && event.attempts <= HURRY_ATTEMPTS_MAX;
  if (!hurries || event.nextAttemptAtMs === null) return { ...event, seenCount };
  return { ...event, seenCount, nextAttemptAtMs: Math.min(event.nextAttemptAtMs, nowMs) };
}

export type Replay =
  | { readonly kind: "queued"; readonly progress: EventProgress }
  /** A worker is at it; pressing again is not needed. */
  | { readonly kind: "running" }
  /** A person has to look at its age first, and a customer is not the one. */
  | { readonly kind: "forbidden" };

/** Makes a stored event due again with six fresh attempts. What it was decided to be is told anew; what it did stays. */
export function replay(event: EventProgress, by: "customer" | "operator", nowMs: number): Replay {
  if (event.status === "quarantined" && by !== "operator") return { kind: "forbidden" };
  const isHeld = event.nextAttemptAtMs !== null && nowMs < event.nextAttemptAtMs;
  if (event.status === "processing" && isHeld) return { kind: "running" };
  const progress: EventProgress = {
    ...event,
    status: "received",
    attempts: 0,
    nextAttemptAtMs: nowMs,
    error: null,
  };
  return { kind: "queued", progress };
}

/** Whether the attempt numbered `fence` may still write. */
export function holdsLease(event: EventProgress, fence: number, nowMs: number): boolean {
  const { status, nextAttemptAtMs } = event;
  return (
    status === "processing" && event.fence === fence && nextAttemptAtMs !== null && nowMs < nextAttemptAtMs
  );
}

function died(event: EventProgress, error: string): EventProgress {
  return { ...event, status: "dead", nextAttemptAtMs: null, error };
}
