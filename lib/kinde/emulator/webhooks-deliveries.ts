/** Deliveries: one for each event and endpoint that asked for it, with every attempt that was made. */
import { DAY_MS } from "../../shared/durations.ts";
import type { Emulator } from "./context.ts";
import { noteFailure, noteSuccess } from "./webhooks-endpoints.ts";
import { readClaims, type EventClaims } from "./webhooks-events.ts";
import { waitAfter } from "./webhooks-schedule.ts";

/** What is finished is kept this long, in real time; then delivery, attempts and event go. */
const KEPT_MS = 7 * DAY_MS;

export const DELIVERY_STATUSES = ["pending", "delivered", "given_up", "lost"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export interface Delivery {
  /** `webhook-id`: the same on every attempt. */
  readonly id: string;
  readonly seq: number;
  readonly endpointId: string;
  readonly userId: string;
  readonly status: DeliveryStatus;
  readonly attemptsMade: number;
  readonly nextAttemptClockMs: number;
  /** Faults that struck it on its way, before the first attempt; null when none did. */
  readonly faults: readonly string[] | null;
  readonly finishedAtMs: number | null;
  readonly claims: EventClaims;
}

export interface Attempt {
  readonly atMs: number;
  readonly durationMs: number;
  /** Null when there was no answer: then `failure` says why. */
  readonly status: number | null;
  readonly failure: string | null;
  readonly faults: readonly string[];
}

interface Row {
  id: string;
  seq: number;
  endpoint_id: string;
  user_id: string;
  status: DeliveryStatus;
  attempts_made: number;
  next_attempt_clock_ms: number;
  faults: string | null;
  finished_at_ms: number | null;
  claims: string;
}

const SELECT = `SELECT d.id, d.seq, d.endpoint_id, e.user_id, d.status, d.attempts_made, d.next_attempt_clock_ms,
    d.faults, d.finished_at_ms, e.claims
  FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id`;

/** What an endpoint is to be sent by now, the longest due first. */
export function dueDeliveries(
  { storage }: Emulator,
  endpointId: string,
  due: { readonly byClockMs: number; readonly limit: number },
): Delivery[] {
  return storage
    .all<Row>(
      `${SELECT} WHERE d.endpoint_id = ? AND d.status = 'pending' AND d.next_attempt_clock_ms <= ?
       ORDER BY d.next_attempt_clock_ms, d.seq LIMIT ?`,
      endpointId,
      due.byClockMs,
      due.limit,
    )
    .map(toDelivery);
}

/** When something is due after an instant; null when nothing is. */
export function nextDueAfter({ storage }: Emulator, endpointId: string, clockMs: number): number | null {
  const row = storage.get<{ next: number | null }>(
    `SELECT min(next_attempt_clock_ms) AS next FROM webhook_deliveries
     WHERE endpoint_id = ? AND status = 'pending' AND next_attempt_clock_ms > ?`,
    endpointId,
    clockMs,
  );
  return row?.next ?? null;
}

export function findDelivery({ storage }: Emulator, id: string): Delivery | null {
  const row = storage.get<Row>(`${SELECT} WHERE d.id = ?`, id);
  return row === null ? null : toDelivery(row);
}

export interface DeliveryFilter {
  readonly eventId: string | null;
  readonly userId: string | null;
  readonly status: DeliveryStatus | null;
  readonly type: string | null;
  /** Those before this one, as the newest come first. */
  readonly beforeSeq: number;
  readonly limit: number;
}

export function listDeliveries({ storage }: Emulator, filter: DeliveryFilter): Delivery[] {
  const { eventId, userId, status, type } = filter;
  return storage
    .all<Row>(
      `${SELECT} WHERE d.seq < ? AND (? IS NULL OR d.event_id = ?) AND (? IS NULL OR e.user_id = ?)
         AND (? IS NULL OR d.status = ?) AND (? IS NULL OR e.type = ?)
       ORDER BY d.seq DESC LIMIT ?`,
      filter.beforeSeq,
      eventId,
      eventId,
      userId,
      userId,
      status,
      status,
      type,
      type,
      filter.limit,
    )
    .map(toDelivery);
}

/** Oldest first. */
export function attemptsOf({ storage }: Emulator, deliveryId: string): Attempt[] {
  return storage
    .all<Omit<Attempt, "faults"> & { faults: string }>(
      `SELECT at_ms AS atMs, duration_ms AS durationMs, status, failure, faults FROM webhook_attempts
       WHERE delivery_id = ? ORDER BY seq`,
      deliveryId,
    )
    .map((row) => ({ ...row, faults: JSON.parse(row.faults) as string[] }));
}

/** What the faults of its way make of a delivery before its first attempt: it waits, or it never goes. */
export function holdBack(
  { storage, deliveryClock, wallNowMs }: Emulator,
  id: string,
  held: { readonly faults: readonly string[]; readonly isLost: boolean; readonly waitMs: number },
): void {
  storage.run(
    `UPDATE webhook_deliveries SET faults = ?, status = ?, finished_at_ms = ?, next_attempt_clock_ms = ? WHERE id = ?`,
    JSON.stringify(held.faults),
    held.isLost ? "lost" : "pending",
    held.isLost ? wallNowMs() : null,
    deliveryClock.nowMs() + held.waitMs,
    id,
  );
}

/** Writes down the attempts that were made at one time, and what follows from the first. Only 200 is a success. */
export function recordAttempts(emulator: Emulator, delivery: Delivery, attempts: readonly Attempt[]): void {
  const { storage, deliveryClock, wallNowMs } = emulator;
  for (const { atMs, durationMs, status, failure, faults } of attempts) {
    storage.run(
      `INSERT INTO webhook_attempts (delivery_id, at_ms, duration_ms, status, failure, faults)
       VALUES (?, ?, ?, ?, ?, ?)`,
      delivery.id,
      atMs,
      durationMs,
      status,
      failure,
      JSON.stringify(faults),
    );
  }
  const isDelivered = attempts[0]?.status === 200;
  const attemptsMade = delivery.attemptsMade + 1;
  const waitMs = waitAfter(attemptsMade);
  const status: DeliveryStatus = isDelivered ? "delivered" : waitMs === null ? "given_up" : "pending";
  storage.run(
    `UPDATE webhook_deliveries SET attempts_made = ?, status = ?, finished_at_ms = ?, next_attempt_clock_ms = ?
     WHERE id = ? AND status = 'pending'`,
    attemptsMade,
    status,
    status === "pending" ? null : wallNowMs(),
    deliveryClock.nowMs() + (waitMs ?? 0),
    delivery.id,
  );
  if (isDelivered) noteSuccess(emulator, delivery.endpointId);
  else noteFailure(emulator, delivery.endpointId);
}

/** One more attempt, now, whatever became of it before. A failure goes on with the waits that are left. */
export function sendAgain({ storage, deliveryClock }: Emulator, id: string): void {
  storage.run(
    `UPDATE webhook_deliveries SET status = 'pending', finished_at_ms = NULL, next_attempt_clock_ms = ?,
       faults = coalesce(faults, '[]') WHERE id = ?`,
    deliveryClock.nowMs(),
    id,
  );
}

export function findEventClaims({ storage }: Emulator, eventId: string): EventClaims | null {
  const row = storage.get<{ claims: string }>("SELECT claims FROM webhook_events WHERE id = ?", eventId);
  return row === null ? null : readClaims(row.claims);
}

/** Forgets what was finished long ago. */
export function purgeFinished({ storage, wallNowMs }: Pick<Emulator, "storage" | "wallNowMs">): void {
  const beforeMs = wallNowMs() - KEPT_MS;
  storage.run(
    `DELETE FROM webhook_attempts WHERE delivery_id IN
       (SELECT id FROM webhook_deliveries WHERE finished_at_ms < ?)`,
    beforeMs,
  );
  storage.run("DELETE FROM webhook_deliveries WHERE finished_at_ms < ?", beforeMs);
  storage.run(
    `DELETE FROM webhook_events WHERE made_at_ms < ?
       AND NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE event_id = webhook_events.id)`,
    beforeMs,
  );
}

function toDelivery(row: Row): Delivery {
  return {
    id: row.id,
    seq: row.seq,
    endpointId: row.endpoint_id,
    userId: row.user_id,
    status: row.status,
    attemptsMade: row.attempts_made,
    nextAttemptClockMs: row.next_attempt_clock_ms,
    faults: row.faults === null ? null : (JSON.parse(row.faults) as string[]),
    finishedAtMs: row.finished_at_ms,
    claims: readClaims(row.claims),
  };
}
