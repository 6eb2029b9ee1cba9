import { phaseOf, reactionTo } from "./job-state.ts";
import type { Job } from "./types.ts";

export type HeartbeatDecision =
  | { readonly kind: "renew"; readonly patch: { readonly leaseExpiresAtMs: number; readonly fence: number } }
  | { readonly kind: "expire" }
  | { readonly kind: "lease_lost" }
  | { readonly kind: "not_running" };

/**
 * Renews a lease without charging. `takeOver` is for a restarted worker: it needs no matching fence and raises it, so
 * that whatever is left of the worker before it can no longer charge.
 */
export function decideHeartbeat(
  job: Job,
  request: { readonly fence: number; readonly takeOver: boolean },
  nowMs: number,
): HeartbeatDecision {
  const reaction = reactionTo(phaseOf(job, nowMs), request.takeOver ? "takeOver" : "heartbeat");
  if (reaction === "expire") return { kind: "expire" };
  if (reaction === "stored_outcome") return { kind: "not_running" };
  if (reaction === "lease_lost" || (!request.takeOver && request.fence !== job.fence))
    return { kind: "lease_lost" };
  const fence = request.takeOver ? job.fence + 1 : job.fence;
  return { kind: "renew", patch: { leaseExpiresAtMs: nowMs + job.leaseMs, fence } };
}
