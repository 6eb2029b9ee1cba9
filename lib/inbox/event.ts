import { DAY_MS } from "../shared/durations.ts";
import { msOfNs, parseEventNs } from "./event-time.ts";

/** Ids and types longer than this are not Kinde's. They become index keys. */
const NAME_LENGTH_MAX = 200;

/** An event first seen further than this from its own time waits for a person. Kinde retries for 36 hours at most. */
export const QUARANTINE_AFTER_MS = 7 * DAY_MS;

/** What a verified body is, before any of its data is read. */
export type ParsedBody =
  | {
      readonly kind: "event";
      /** The signed identity of the event. */
      readonly eventId: string;
      readonly type: string;
      /** `event_timestamp`, else `timestamp`; null when neither is an instant, which the handler then refuses. */
      readonly occurredAtNs: bigint | null;
    }
  /** Signed by the tenant and still no event: kept for a person to see, never worked on. */
  | { readonly kind: "malformed"; readonly reason: string };

/** Reads what every event has. Never throws: whatever the tenant signed is stored, so this says how. */
export function parseBody(json: unknown): ParsedBody {
  if (!isRecord(json)) return { kind: "malformed", reason: "the body is not a JSON object" };
  const { type, event_id: eventId } = json;
  if (!isName(eventId)) return { kind: "malformed", reason: "event_id is not a text of 1 to 200 characters" };
  if (!isName(type)) return { kind: "malformed", reason: "type is not a text of 1 to 200 characters" };
  const occurredAtNs = parseEventNs(json.event_timestamp) ?? parseEventNs(json.timestamp);
  return { kind: "event", eventId, type, occurredAtNs };
}

/**
 * Why an event first seen now has to wait for a person; null when it need not. Both directions count: a time far ahead
 * would outrank every real event until then.
 */
export function quarantineReason(occurredAtNs: bigint, nowMs: number): string | null {
  const ageMs = nowMs - msOfNs(occurredAtNs);
  if (Math.abs(ageMs) <= QUARANTINE_AFTER_MS) return null;
  const days = (Math.abs(ageMs) / DAY_MS).toFixed(1);
  return ageMs > 0
    ? `first seen ${days} days after its event time; 7 days are accepted`
    : `its event time is ${days} days ahead; 7 days are accepted`;
}

/** Parses JSON text; undefined when it is none, which is no value of JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length >= 1 && value.length <= NAME_LENGTH_MAX;
}
