import { QUARANTINE_AFTER_MS } from "./event.ts";
import { msOfNs } from "./event-time.ts";
import type { EventStatus } from "./worker.ts";

/** Events that are done. All others wait for a worker or for a person. */
export const DONE_STATUSES = ["applied", "ignored"] as const satisfies readonly EventStatus[];

/**
 * Whether a copy of a stored event, should one come after the event was removed, would do nothing by itself. Its key is
 * not known any more then, so its age has to hold it back: it is quarantined as too old, now and for ever. An event
 * whose time lies ahead, which a person let through, is kept until that is so. One without a time is told by its type
 * alone, and was ignored for it.
 */
export function isForgettable(
  event: { readonly status: EventStatus; readonly occurredAtNs: bigint | null },
  nowMs: number,
): boolean {
  const { status, occurredAtNs } = event;
  if (status !== "applied" && status !== "ignored") return false;
  if (occurredAtNs === null) return status === "ignored";
  return nowMs - msOfNs(occurredAtNs) > QUARANTINE_AFTER_MS;
}
