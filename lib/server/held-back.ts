import { processValue } from "./process-value.ts";

/** The guards of the front door, as the metrics name them. */
export type GuardName = "keys" | "sessions" | "webhooks" | "codes" | "health_checks" | "sign_ins";

const kept = processValue<Record<GuardName, number>>("held-back");

/** Requests that were held back with a 429 since the start of the process, by the guard that did. */
export function heldBackCounts(): Record<GuardName, number> {
  return (
    kept.get() ?? kept.set({ keys: 0, sessions: 0, webhooks: 0, codes: 0, health_checks: 0, sign_ins: 0 })
  );
}
