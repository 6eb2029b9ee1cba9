/** Who is told of events: endpoints, what they asked for, and whether they have failed for too long. */
import type { Emulator } from "./context.ts";
import { timedId } from "./ids.ts";
import { DISABLE_AFTER_MS } from "./webhooks-schedule.ts";

/** Few, because each may have several deliveries on the way. */
export const ENDPOINTS_MAX = 20;

export interface Endpoint {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly url: string;
  /** Null stands for all. */
  readonly eventTypes: readonly string[] | null;
  /** The one of KINDE_EMULATOR_WEBHOOK_URL. */
  readonly isDefault: boolean;
  readonly madeAtMs: number;
  /** Real time; null while it is enabled. */
  readonly disabledAtMs: number | null;
  readonly disabledReason: string | null;
}

interface Row {
  id: string;
  name: string;
  description: string;
  url: string;
  event_types: string | null;
  is_default: number;
  made_at_ms: number;
  disabled_at_ms: number | null;
  disabled_reason: string | null;
}

const SELECT = `SELECT id, name, description, url, event_types, is_default, made_at_ms, disabled_at_ms, disabled_reason
  FROM webhook_endpoints`;

export type NewEndpoint = Pick<Endpoint, "name" | "description" | "url" | "eventTypes">;

export function listEndpoints({ storage }: Emulator): Endpoint[] {
  return storage.all<Row>(`${SELECT} ORDER BY seq`).map(toEndpoint);
}

export function findEndpoint({ storage }: Emulator, id: string): Endpoint | null {
  const row = storage.get<Row>(`${SELECT} WHERE id = ?`, id);
  return row === null ? null : toEndpoint(row);
}

/** The enabled ones that asked for a type. What happens while one is disabled it is never told. */
export function endpointsFor(emulator: Emulator, type: string): Endpoint[] {
  return listEndpoints(emulator).filter(
    ({ eventTypes, disabledAtMs }) =>
      disabledAtMs === null && (eventTypes === null || eventTypes.includes(type)),
  );
}

/** Returns null when there are as many as there may be. */
export function addEndpoint(emulator: Emulator, fields: NewEndpoint, isDefault = false): Endpoint | null {
  const { storage, wallNowMs } = emulator;
  if (listEndpoints(emulator).length >= ENDPOINTS_MAX) return null;
  const id = timedId("webhook", wallNowMs());
  storage.run(
    `INSERT INTO webhook_endpoints (id, name, description, url, event_types, is_default, made_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    id,
    fields.name,
    fields.description,
    fields.url,
    typesText(fields.eventTypes),
    isDefault ? 1 : 0,
    wallNowMs(),
  );
  return findEndpoint(emulator, id);
}

/** The URL stays as it is, as in Kinde. */
export function changeEndpoint({ storage }: Emulator, id: string, fields: Omit<NewEndpoint, "url">): void {
  storage.run(
    "UPDATE webhook_endpoints SET name = ?, description = ?, event_types = ? WHERE id = ?",
    fields.name,
    fields.description,
    typesText(fields.eventTypes),
    id,
  );
}

/** What was still to be sent to it is given up. */
export function removeEndpoint({ storage, wallNowMs }: Emulator, id: string): void {
  storage.run(
    "UPDATE webhook_deliveries SET status = 'given_up', finished_at_ms = ? WHERE endpoint_id = ? AND status = 'pending'",
    wallNowMs(),
    id,
  );
  storage.run("DELETE FROM webhook_endpoints WHERE id = ?", id);
}

/** Its pending deliveries go on. Returns how many endpoints were disabled before. */
export function enableEndpoints({ storage }: Emulator, id: string | null): number {
  return storage.run(
    `UPDATE webhook_endpoints SET disabled_at_ms = NULL, disabled_reason = NULL, failing_since_clock_ms = NULL
     WHERE disabled_at_ms IS NOT NULL AND (? IS NULL OR id = ?)`,
    id,
    id,
  );
}

/** Brings the default endpoint in line with the setting, at start. */
export function placeDefaultEndpoint(emulator: Emulator): void {
  const { storage, config } = emulator;
  // Failures from before a stop say nothing of now: the app may have been stopped with the emulator.
  storage.run("UPDATE webhook_endpoints SET failing_since_clock_ms = NULL");
  const present = listEndpoints(emulator).find(({ isDefault }) => isDefault);
  if (config.webhookUrl === present?.url) return;
  if (config.webhookUrl === null) {
    if (present !== undefined) removeEndpoint(emulator, present.id);
  } else if (present === undefined) {
    const fields = {
      name: "Holdfast",
      description: "Set by KINDE_EMULATOR_WEBHOOK_URL.",
      url: config.webhookUrl,
      eventTypes: null,
    };
    addEndpoint(emulator, fields, true);
  } else {
    storage.run("UPDATE webhook_endpoints SET url = ? WHERE id = ?", config.webhookUrl, present.id);
    enableEndpoints(emulator, present.id);
  }
}

export function noteSuccess({ storage }: Emulator, id: string): void {
  storage.run(
    "UPDATE webhook_endpoints SET failing_since_clock_ms = NULL WHERE id = ? AND failing_since_clock_ms IS NOT NULL",
    id,
  );
}

/** Counts from the first failure after the last success, and disables when that is too long ago. */
export function noteFailure({ storage, deliveryClock, wallNowMs }: Emulator, id: string): void {
  const nowClockMs = deliveryClock.nowMs();
  storage.run(
    `UPDATE webhook_endpoints SET failing_since_clock_ms = coalesce(failing_since_clock_ms, ?) WHERE id = ?`,
    nowClockMs,
    id,
  );
  storage.run(
    `UPDATE webhook_endpoints SET disabled_at_ms = ?, disabled_reason = ?
     WHERE id = ? AND disabled_at_ms IS NULL AND failing_since_clock_ms <= ?`,
    wallNowMs(),
    "It has failed for 72 hours without one success.",
    id,
    nowClockMs - DISABLE_AFTER_MS,
  );
}

function typesText(eventTypes: readonly string[] | null): string | null {
  return eventTypes === null ? null : JSON.stringify(eventTypes);
}

function toEndpoint(row: Row): Endpoint {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    url: row.url,
    eventTypes: row.event_types === null ? null : (JSON.parse(row.event_types) as string[]),
    isDefault: row.is_default !== 0,
    madeAtMs: row.made_at_ms,
    disabledAtMs: row.disabled_at_ms,
    disabledReason: row.disabled_reason,
  };
}
