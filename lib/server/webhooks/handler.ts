import { BODY_BYTES_MAX, type RefusalCode, type Verdict, verifyDelivery } from "../../inbox/verify.ts";
import type { KeySource } from "../../inbox/keys.ts";
import { jsonResponse, problemResponse } from "../api/answers.ts";
import type { Answered, Sent } from "../convex-functions.ts";
import { convexApi } from "../convex-functions.ts";
import { BackendError } from "../convex.ts";
import type { LogEvent } from "../deps.ts";
import type { PlainRequest, PlainResponse } from "../http.ts";
import { readRawBody } from "./body.ts";

type Deliver = typeof convexApi.inbox.deliver;

export interface WebhookOptions {
  /** The tenant whose events are taken. */
  readonly issuerUrl: string;
  readonly keys: KeySource;
  /** Stores a verified delivery. Throws `BackendError` when that is not certain. */
  readonly deliver: (delivery: Sent<Deliver>) => Promise<Answered<Deliver>>;
  readonly log: (event: LogEvent) => void;
}

/** Deliveries since the start of the process, by what became of them. Nothing of a refused one is stored, so it is counted. */
export interface WebhookCounts {
  stored: number;
  copies: number;
  undecided: number;
  storeFailed: number;
  tooLarge: number;
  refused: Record<RefusalCode, number>;
}

export interface Webhooks {
  readonly handle: (request: PlainRequest) => Promise<PlainResponse>;
  readonly counts: Readonly<WebhookCounts>;
}

/** Longer ids are not Kinde's. They become index keys; what is cut still tells deliveries apart. */
const WEBHOOK_ID_LENGTH_MAX = 200;
/** How soon a sender may try again when the keys could not be asked for; Kinde keeps its own schedule. */
const RETRY_AFTER_MS = 30_000;

/**
 * The endpoint of billing webhooks: raw body, verified, stored, 200. Every other answer makes Kinde send it again, so
 * nothing is answered with 200 that is not stored. Content type and method of framing are not judged. Rule source:
 * design §6.
 */
export function createWebhooks({ issuerUrl, keys, deliver, log }: WebhookOptions): Webhooks {
  const refused: WebhookCounts["refused"] = {
    not_a_token: 0,
    algorithm: 0,
    embedded_key: 0,
    no_key_id: 0,
    unknown_key: 0,
    signature: 0,
    issuer: 0,
    user_token: 0,
  };
  const counts: WebhookCounts = { stored: 0, copies: 0, undecided: 0, storeFailed: 0, tooLarge: 0, refused };

  const store = async (
    verdict: Extract<Verdict, { kind: "verified" }>,
    webhookId: string | null,
  ): Promise<PlainResponse> => {
    const { body, payload, payloadHash, kid } = verdict;
    try {
      const { kind, flags } = await deliver({ body, payload, payloadHash, webhookId, kid });
      counts[kind === "stored" ? "stored" : "copies"] += 1;
      return jsonResponse({ status: kind, flags });
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      counts.storeFailed += 1;
      log({
        event: "webhook_not_stored",
        webhookId: webhookId ?? undefined,
        fault: error.fault,
        message: error.message,
      });
      return problemResponse("internal", "The event could not be stored. Send it again.");
    }
  };

  return {
    counts,
    async handle(request) {
      const encoding = request.headers.get("content-encoding")?.trim().toLowerCase() ?? "";
      if (encoding !== "" && encoding !== "identity") {
        return problemResponse(
          "unsupported_encoding",
          "Send the token as it is, without a content encoding.",
        );
      }
      const raw = await readRawBody(request);
      if (raw.kind === "cut") return problemResponse("invalid", "The body ended before it was complete.");
      if (raw.kind === "too_large") {
        counts.tooLarge += 1;
        const extra = { maximumBytes: BODY_BYTES_MAX };
        return problemResponse("too_large", `The body is larger than ${BODY_BYTES_MAX} bytes.`, { extra });
      }
      const verdict = await verifyDelivery(raw.bytes, { issuerUrl, keys });
      if (verdict.kind === "refused") {
        refused[verdict.code] += 1;
        return problemResponse("webhook_refused", "The body is not a webhook that the tenant signed.", {
          extra: { reason: verdict.code },
        });
      }
      if (verdict.kind === "undecided") {
        counts.undecided += 1;
        const detail = "The key of this token is not known yet. Send it again.";
        return problemResponse("unavailable", detail, { retryAfterMs: RETRY_AFTER_MS });
      }
      const webhookId = request.headers.get("webhook-id")?.trim().slice(0, WEBHOOK_ID_LENGTH_MAX) ?? "";
      return await store(verdict, webhookId === "" ? null : webhookId);
    },
  };
}
