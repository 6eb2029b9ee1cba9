import { quarantineReason, type ParsedBody } from "./event.ts";

/** What a delivery is told apart by. */
export interface Delivery {
  readonly body: ParsedBody;
  readonly payloadHash: string;
  /** The `webhook-id` header. Nothing signs it, so a signed event id always outranks it. */
  readonly webhookId: string | null;
}

/** What of a stored event decides whether a delivery is a copy of it. */
export interface StoredIdentity {
  readonly eventKey: string;
  /** Null for a malformed one. */
  readonly eventId: string | null;
  readonly payloadHash: string;
}

/** What is odd about a delivery: kept on its receipt, shown, and never a reason to refuse it. */
export type DeliveryFlag =
  /** Another event is stored under the same `webhook-id`. */
  | "webhook_id_reused"
  /** The event is stored with another body. The first one stays. */
  | "other_body";

export type Intake =
  | {
      readonly kind: "insert";
      readonly eventKey: string;
      readonly status: "received" | "quarantined" | "dead";
      /** Why it is not worked on; null when it is. */
      readonly reason: string | null;
      readonly flags: readonly DeliveryFlag[];
    }
  /** A copy of `eventKey`: one more seen, one more receipt. */
  | { readonly kind: "copy"; readonly eventKey: string; readonly flags: readonly DeliveryFlag[] };

/** The key that a delivery is stored under: its signed event id, or the hash of a body that has none. Unique. */
export function eventKeyOf({ body, payloadHash }: Pick<Delivery, "body" | "payloadHash">): string {
  return body.kind === "event" ? `event:${body.eventId}` : `hash:${payloadHash}`;
}

/**
 * Decides what a verified delivery is. `sameKey` is the event stored under its key, `sameWebhookId` one stored under its
 * `webhook-id`; both are read in the transaction that writes the answer, so two copies at once make one event.
 */
export function decideIntake(
  delivery: Delivery,
  sameKey: StoredIdentity | null,
  sameWebhookId: StoredIdentity | null,
  nowMs: number,
): Intake {
  const { body, payloadHash } = delivery;
  const eventKey = eventKeyOf(delivery);
  if (sameKey !== null) {
    return { kind: "copy", eventKey, flags: sameKey.payloadHash === payloadHash ? [] : ["other_body"] };
  }
  const flags: DeliveryFlag[] = sameWebhookId === null ? [] : ["webhook_id_reused"];
  if (body.kind === "malformed") {
    // Without an event id on either side the header is all there is to say that a body was sent again.
    if (sameWebhookId !== null && sameWebhookId.eventId === null) {
      return { kind: "copy", eventKey: sameWebhookId.eventKey, flags: ["other_body"] };
    }
    return { kind: "insert", eventKey, status: "dead", reason: `malformed: ${body.reason}`, flags };
  }
  // An event without a time is not held back: its handler names the missing field, or ignores the type.
  const reason = body.occurredAtNs === null ? null : quarantineReason(body.occurredAtNs, nowMs);
  return { kind: "insert", eventKey, status: reason === null ? "received" : "quarantined", reason, flags };
}
