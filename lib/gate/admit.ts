import type { Cycle } from "../ledger/cycle.ts";
import { grantRefresh, emptyLimitRow, judgeLimit, usableLimit, type LimitRow } from "./limit-cache.ts";
import { decideRate, type RateWindow } from "./rate.ts";
import { differencesFrom, fingerprintOf, type AdmissionRequest } from "./request.ts";
import { decideRoom, placeHold, roomLimitOf, type RoomDecision } from "./room.ts";
import {
  FEATURE_TOKENS,
  type Budget,
  type Job,
  type LimitView,
  type ProviderName,
  type Refusal,
  type RoomNumbers,
} from "./types.ts";

/** Everything an admission looks at, read in one snapshot. */
export interface AdmissionState {
  readonly nowMs: number;
  readonly cycle: Cycle;
  readonly provider: ProviderName;
  readonly rate: RateWindow | null;
  readonly limit: LimitRow | null;
  readonly budget: Budget;
}

/** Running jobs hold the room. The caller adds `earliestLeaseExpiresAtMs`, which costs a read of its own. */
export interface HeldRefusal extends RoomNumbers {
  readonly code: "held_by_running_jobs";
}

export type AdmissionDecision =
  | {
      readonly kind: "admit";
      readonly job: Job;
      readonly limit: LimitView;
      /** The rows as they are once the job is in. */
      readonly budget: Budget;
      readonly rate: RateWindow;
    }
  | { readonly kind: "refresh"; readonly usable: LimitView | null; readonly row: LimitRow }
  | { readonly kind: "pending"; readonly retryAfterMs: number }
  | { readonly kind: "refused"; readonly refusal: Refusal | HeldRefusal };

/**
 * What a key that already names a job means: the same request again is answered with the job, another one is a
 * conflict. Only an admission binds a key, so a refused request never gets here.
 */
export function decideReplay(existing: Job, request: AdmissionRequest): Refusal | null {
  if (existing.fingerprint === fingerprintOf(request)) return null;
  const differences = differencesFrom(existing.fingerprint, request);
  const message = `The key ${JSON.stringify(request.key)} already names a job with another request: ${differences}.`;
  return { code: "key_conflict", message };
}

/**
 * Decides a new key: rate, then limit, then room. Reads nothing and writes nothing, so preview and admit share it
 * and cannot disagree. Refusals come in the order of the checks; a refresh is asked for before room is judged.
 */
export function decideAdmission(request: AdmissionRequest, state: AdmissionState): AdmissionDecision {
  const rate = decideRate(state.rate, state.nowMs);
  if (rate.kind === "closed") return { kind: "refused", refusal: rate.refusal };

  const judged = judgeLimit(state.limit, state.nowMs);
  switch (judged.kind) {
    case "refresh": {
      const row = grantRefresh(state.limit ?? emptyLimitRow(state.provider), state.nowMs);
      return { kind: "refresh", usable: judged.usable, row };
    }
    case "pending":
      return judged;
    case "unknown":
      return { kind: "refused", refusal: judged.refusal };
    case "use":
      return decideWithLimit(request, state, judged.limit, rate.after);
  }
}

/** The last step of an admission, for a limit that may be used. A preview that must not refresh starts here. */
export function decideWithLimit(
  request: AdmissionRequest,
  state: AdmissionState,
  limit: LimitView,
  rate: RateWindow,
): AdmissionDecision {
  const { budget, cycle, nowMs } = state;
  const room = decideRoom({
    limitUnits: limit.limitUnits,
    budget,
    requestedUnits: request.units,
    acceptUnits: request.acceptUnits,
  });
  if (room.kind !== "room") {
    return {
      kind: "refused",
      refusal: refuseRoom(room, request.units, limit.limitUnits, budget, cycle.endMs),
    };
  }
  return {
    kind: "admit",
    job: newJob(request, room.grantedUnits, cycle.name, nowMs),
    limit,
    budget: placeHold(budget, room.grantedUnits, limit.limitUnits),
    rate,
  };
}

/**
 * What admit would answer, without the power to refresh: a limit that admit would first read again is used while it
 * is under ten minutes old. `refresh_needed` means that no usable limit is known.
 */
export function previewAdmission(
  request: AdmissionRequest,
  state: AdmissionState,
): AdmissionDecision | { readonly kind: "refresh_needed" } {
  const decision = decideAdmission(request, state);
  if (decision.kind !== "refresh" && decision.kind !== "pending") return decision;
  const rate = decideRate(state.rate, state.nowMs);
  const usable = state.limit === null ? null : usableLimit(state.limit, state.nowMs);
  if (usable === null || rate.kind === "closed") return { kind: "refresh_needed" };
  return decideWithLimit(request, state, usable, rate.after);
}

/** Words a room decision that is not "room" as a refusal with the numbers at this moment. */
export function refuseRoom(
  room: Exclude<RoomDecision, { kind: "room" }>,
  requestedUnits: number,
  limitUnits: number | null,
  budget: Budget,
  nextCycleStartMs: number,
): Refusal | HeldRefusal {
  const numbers: RoomNumbers = {
    requestedUnits,
    usedUnits: budget.usedUnits,
    heldUnits: budget.heldUnits,
    limitUnits: roomLimitOf(limitUnits),
    freeUnits: room.freeUnits,
    nextCycleStartMs,
  };
  return room.kind === "limit_reached"
    ? { code: "limit_reached", ...numbers }
    : { code: "held_by_running_jobs", ...numbers };
}

function newJob(request: AdmissionRequest, heldUnits: number, cycle: string, nowMs: number): Job {
  return {
    key: request.key,
    fingerprint: fingerprintOf(request),
    kind: request.kind,
    feature: FEATURE_TOKENS,
    status: "running",
    requestedUnits: request.units,
    heldUnits,
    usedUnits: 0,
    overCapUnits: 0,
    step: 0,
    lastStepUnits: 0,
    fence: 1,
    leaseMs: request.leaseMs,
    leaseExpiresAtMs: nowMs + request.leaseMs,
    cycle,
    startedAtMs: nowMs,
    endedAtMs: null,
    runner: request.runner,
  };
}
