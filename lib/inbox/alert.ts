import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../shared/durations.ts";

/*
 * Alerts to a webhook of the operator: what is sent, how it is signed (Standard Webhooks), when it is tried again.
 */

/** The waits after the first five attempts. After the sixth it is given up, and shown. */
export const RETRY_WAITS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
] as const;
export const ATTEMPTS_MAX = RETRY_WAITS_MS.length + 1;
/** One attempt, from the connection to the end of the answer. */
export const SEND_TIMEOUT_MS = 5 * SECOND_MS;
/** A sender holds an alert this long: a send with its two transactions, many times over. */
export const LEASE_MS = 30 * SECOND_MS;
const STOPPED = "the sender stopped before it told what became of the attempt";

/** How far an alert is on its way. */
export interface AlertProgress {
  readonly status: "waiting" | "sent" | "given_up";
  /** Attempts that began. The number of the last one is what its sender holds the alert by. */
  readonly attempts: number;
  /** When it is due; during an attempt the end of its lease; null when it is done. */
  readonly nextAttemptAtMs: number | null;
  readonly error: string | null;
  readonly sentAtMs: number | null;
}

export function newAlert(nowMs: number): AlertProgress {
  return { status: "waiting", attempts: 0, nextAttemptAtMs: nowMs, error: null, sentAtMs: null };
}

export type AlertClaim =
  | { readonly kind: "claimed"; readonly progress: AlertProgress }
  /** The last attempt ended with its sender. */
  | { readonly kind: "given_up"; readonly progress: AlertProgress }
  | { readonly kind: "not_due" };

/** Takes an alert for one attempt. */
export function claimAlert(alert: AlertProgress, nowMs: number): AlertClaim {
  const { status, attempts, nextAttemptAtMs } = alert;
  if (status !== "waiting" || nextAttemptAtMs === null || nowMs < nextAttemptAtMs) return { kind: "not_due" };
  if (attempts >= ATTEMPTS_MAX) return { kind: "given_up", progress: givenUp(alert, alert.error ?? STOPPED) };
  const progress = { ...alert, attempts: attempts + 1, nextAttemptAtMs: nowMs + LEASE_MS };
  return { kind: "claimed", progress };
}

/** The alert after an attempt; null when another one has begun since. `error` is null when it arrived. */
export function settleAlert(
  alert: AlertProgress,
  attempt: number,
  error: string | null,
  nowMs: number,
): AlertProgress | null {
  if (alert.status !== "waiting" || alert.attempts !== attempt) return null;
  if (error === null)
    return { ...alert, status: "sent", nextAttemptAtMs: null, error: null, sentAtMs: nowMs };
  const waitMs = RETRY_WAITS_MS[attempt - 1];
  return waitMs === undefined ? givenUp(alert, error) : { ...alert, nextAttemptAtMs: nowMs + waitMs, error };
}

function givenUp(alert: AlertProgress, error: string): AlertProgress {
  return { ...alert, status: "given_up", nextAttemptAtMs: null, error };
}

export interface AlertMessage {
  /** The same in every attempt, so that a receiver can tell copies. */
  readonly id: string;
  readonly kind: string;
  readonly subject: string;
  readonly detail: string;
  readonly createdAtMs: number;
}

export interface SignedAlert {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The request of one attempt. `key` is the bytes of the secret; the timestamp is the attempt's own. */
export async function signAlert(
  alert: AlertMessage,
  key: Uint8Array<ArrayBuffer>,
  nowMs: number,
): Promise<SignedAlert> {
  const { id, kind, subject, detail, createdAtMs } = alert;
  const createdAt = new Date(createdAtMs).toISOString();
  const body = JSON.stringify({ type: "review.opened", id, kind, subject, detail, createdAt });
  const timestamp = String(Math.floor(nowMs / SECOND_MS));
  const hmac = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const bytes = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", hmac, bytes));
  return {
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${btoa(String.fromCharCode(...signature))}`,
    },
  };
}

const SECRET_SHAPE = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
/** The lengths that Standard Webhooks asks for. */
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 64;

/** The key bytes of HOLDFAST_ALERT_SECRET; null when it is no `whsec_` and 24 to 64 bytes in base64. */
export function parseAlertSecret(secret: string | undefined): Uint8Array<ArrayBuffer> | null {
  const [, base64] = SECRET_SHAPE.exec(secret ?? "") ?? [];
  if (base64 === undefined || base64.length % 4 !== 0) return null;
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX ? bytes : null;
}
