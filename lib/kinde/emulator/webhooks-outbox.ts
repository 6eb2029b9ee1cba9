/**
 * Events and the deliveries they ask for, written in the transaction of the change: what is not committed is told to
 * nobody, and what is committed is told also when the process is killed right after.
 */
import { must } from "../../shared/assert.ts";
import type { Change } from "./changes.ts";
import type { Emulator } from "./context.ts";
import { timedId } from "./ids.ts";
import { draftOf, type EventClaims, type Subject } from "./webhooks-events.ts";
import { endpointsFor } from "./webhooks-endpoints.ts";
import { eventTimeText, later, nextEventTime, type EventTime } from "./webhooks-times.ts";

/** `timestamp` is when the event was made up, which takes up to this long. */
const MADE_WITHIN_MS = 50;

/** Writes the event of a change, and a delivery for each endpoint that wants it. Returns the id of the event. */
export function publishEvent(emulator: Emulator, change: Change): string {
  const { storage } = emulator;
  const subject = subjectOf(emulator, change);
  const draft = draftOf(change, subject, emulator.catalogue);
  const time = timeOf(emulator, change, draft.afterMs);
  const id = timedId("event", time.ms);
  const claims: EventClaims = {
    type: draft.type,
    event_id: id,
    timestamp: eventTimeText(later(time, { ms: Math.floor(Math.random() * MADE_WITHIN_MS), ns: 1 })),
    event_timestamp: eventTimeText(time),
    source: emulator.source,
    data: draft.data,
  };
  const wallMs = emulator.wallNowMs();
  storage.run(
    "INSERT INTO webhook_events (id, type, user_id, at_ms, at_ns, claims, made_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)",
    id,
    draft.type,
    subject.userId,
    time.ms,
    time.ns,
    JSON.stringify(claims),
    wallMs,
  );
  const dueClockMs = emulator.deliveryClock.nowMs();
  for (const endpoint of endpointsFor(emulator, draft.type)) {
    storage.run(
      `INSERT INTO webhook_deliveries (id, endpoint_id, event_id, status, next_attempt_clock_ms)
       VALUES (?, ?, ?, 'pending', ?)`,
      timedId("webhook_event", wallMs),
      endpoint.id,
      id,
      dueClockMs,
    );
  }
  return id;
}

function timeOf({ storage, nowMs }: Emulator, change: Change, afterMs: number): EventTime {
  if (change.kind === "event_told" && change.happenedAtMs !== null) {
    return nextEventTime(change.happenedAtMs, null, Math.random);
  }
  const before = storage.get<EventTime>(
    "SELECT at_ms AS ms, at_ns AS ns FROM webhook_events ORDER BY seq DESC LIMIT 1",
  );
  return later(nextEventTime(nowMs(), before, Math.random), { ms: afterMs, ns: 0 });
}

/** Read here, because users.ts records changes itself. */
function subjectOf({ storage }: Emulator, change: Change): Subject {
  const sql = `SELECT id AS userId, customer_id AS customerId, email, given_name AS givenName,
    family_name AS familyName, permissions FROM users`;
  const row =
    "userId" in change
      ? storage.get<SubjectRow>(`${sql} WHERE id = ?`, change.userId)
      : storage.get<SubjectRow>(`${sql} WHERE customer_id = ?`, change.customerId);
  const found = must(row, `a change is about nobody: ${JSON.stringify(change)}`);
  return { ...found, permissions: JSON.parse(found.permissions) as string[] };
}

type SubjectRow = Omit<Subject, "permissions"> & { permissions: string };
