/** Control API: what webhooks were sent and became of them, events told by hand, and the pace of retries. */
import { z } from "zod";
import { must } from "../../shared/assert.ts";
import { apiRefusal, json, type Answer } from "./answers.ts";
import { existingUser, parseBody } from "./api-input.ts";
import { agreementsOf, currentAgreement, endAgreement, findAgreement } from "./billing.ts";
import { recordChange } from "./changes.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { changedUser, changeUser, deleteUser } from "./users.ts";
import { SCALE_MAX, SCALE_MIN } from "./webhooks-clock.ts";
import {
  attemptsOf,
  DELIVERY_STATUSES,
  findDelivery,
  listDeliveries,
  sendAgain,
  type Delivery,
} from "./webhooks-deliveries.ts";
import { enableEndpoints, findEndpoint, listEndpoints } from "./webhooks-endpoints.ts";
import type { WebhookSender } from "./webhooks-sender.ts";
import { SENT_TYPES } from "./webhooks-types.ts";

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;

export function webhookControlRoutes(sender: WebhookSender): Route[] {
  return [
    { method: "GET", path: "/control/webhooks", handler: showWebhooks },
    { method: "POST", path: "/control/webhooks/scale", handler: setScale },
    { method: "POST", path: "/control/webhooks/enable", handler: enable },
    {
      method: "POST",
      path: "/control/webhooks/{id}/send",
      handler: (emulator, call) => sendNow(emulator, call, sender),
    },
    { method: "POST", path: "/control/users/{id}/events", handler: tellEvent },
    { method: "DELETE", path: "/control/users/{id}/agreement", handler: cancelAgreement },
    { method: "PATCH", path: "/control/users/{id}", handler: updateUser },
    { method: "DELETE", path: "/control/users/{id}", handler: removeUser },
  ];
}

const listQuery = z.object({
  event: z.string().optional(),
  user: z.string().optional(),
  status: z.enum(DELIVERY_STATUSES).optional(),
  type: z.string().optional(),
  before: z.coerce.number().int().default(Number.MAX_SAFE_INTEGER),
  limit: z.coerce.number().int().min(1).max(LIMIT_MAX).default(LIMIT_DEFAULT),
});

/** Newest first; `nextBefore` is the `before` of the next page. */
function showWebhooks(emulator: Emulator, call: Call): Answer {
  const query = listQuery.safeParse(Object.fromEntries(call.query));
  if (!query.success) {
    const issue = query.error.issues[0]!;
    throw apiRefusal(400, "INVALID_REQUEST", `${issue.path.join(".")}: ${issue.message}`);
  }
  const { event, user, status, type, before, limit } = query.data;
  const found = listDeliveries(emulator, {
    eventId: event ?? null,
    userId: user ?? null,
    status: status ?? null,
    type: type ?? null,
    beforeSeq: before,
    limit: limit + 1,
  });
  const deliveries = found.slice(0, limit);
  return json(200, {
    timeScale: emulator.deliveryClock.scale,
    endpoints: listEndpoints(emulator),
    deliveries: deliveries.map((delivery) => deliveryAnswer(emulator, delivery)),
    nextBefore: found.length > limit ? deliveries.at(-1)!.seq : null,
  });
}

function deliveryAnswer(emulator: Emulator, delivery: Delivery): Record<string, unknown> {
  const { id, seq, endpointId, userId, status, attemptsMade, finishedAtMs, faults, claims } = delivery;
  const waitMs = Math.max(0, emulator.deliveryClock.realMsUntil(delivery.nextAttemptClockMs));
  return {
    id,
    seq,
    endpointId,
    eventId: claims.event_id,
    type: claims.type,
    userId,
    status,
    attemptsMade,
    // By the wall clock and the present scale.
    nextAttemptAtMs: status === "pending" ? Math.ceil(emulator.wallNowMs() + waitMs) : null,
    finishedAtMs,
    faults: faults ?? [],
    claims,
    attempts: attemptsOf(emulator, id),
  };
}

function setScale(emulator: Emulator, call: Call): Answer {
  const { scale } = parseBody(z.strictObject({ scale: z.number().min(SCALE_MIN).max(SCALE_MAX) }), call);
  emulator.deliveryClock.setScale(scale);
  return json(200, { timeScale: scale });
}

function enable(emulator: Emulator, call: Call): Answer {
  const { endpointId } = parseBody(z.strictObject({ endpointId: z.string().optional() }), call);
  if (endpointId !== undefined && findEndpoint(emulator, endpointId) === null) {
    throw apiRefusal(404, "WEBHOOK_NOT_FOUND", "There is no such webhook.");
  }
  return json(200, { enabled: enableEndpoints(emulator, endpointId ?? null) });
}

function sendNow(emulator: Emulator, { params }: Call, sender: WebhookSender): Answer {
  const delivery = findDelivery(emulator, params["id"]!);
  if (delivery === null) throw apiRefusal(404, "DELIVERY_NOT_FOUND", "There is no such delivery.");
  if (sender.isSending(delivery)) throw apiRefusal(409, "DELIVERY_UNDER_WAY", "It is being sent now.");
  const endpoint = findEndpoint(emulator, delivery.endpointId);
  if (endpoint === null || endpoint.disabledAtMs !== null) {
    throw apiRefusal(409, "WEBHOOK_DISABLED", "Its endpoint is disabled or removed.");
  }
  sendAgain(emulator, delivery.id);
  const sent = must(findDelivery(emulator, delivery.id), `no delivery ${delivery.id}`);
  return json(200, { delivery: deliveryAnswer(emulator, sent) });
}

const toldEvent = z.strictObject({
  /** `customer.` may be left out. */
  type: z
    .string()
    .transform((type) => (type.includes(".") ? type : `customer.${type}`))
    .pipe(z.enum(SENT_TYPES)),
  /** One of the user's, by default the one in force, else the last. */
  agreementId: z.string().optional(),
  happenedAtMs: z.int().min(0).optional(),
  data: z.record(z.string(), z.unknown()).default({}),
});

/** Tells an event without the change. */
function tellEvent(emulator: Emulator, call: Call): Answer {
  const { type, agreementId, happenedAtMs, data } = parseBody(toldEvent, call);
  const { customerId } = existingUser(emulator, call.params["id"]!);
  const agreement =
    agreementId === undefined
      ? (agreementsOf(emulator, customerId)[0] ?? null)
      : findAgreement(emulator, agreementId);
  if (agreementId !== undefined && agreement?.customerId !== customerId) {
    throw apiRefusal(404, "AGREEMENT_NOT_FOUND", "The user has no such agreement.");
  }
  const eventId = recordChange(emulator, {
    kind: "event_told",
    type,
    customerId,
    agreementId: agreement?.id ?? null,
    planKey: agreement?.planKey ?? null,
    happenedAtMs: happenedAtMs ?? null,
    data,
  });
  return json(201, { eventId });
}

function cancelAgreement(emulator: Emulator, call: Call): Answer {
  const { customerId } = existingUser(emulator, call.params["id"]!);
  const agreement = currentAgreement(emulator, customerId);
  if (agreement === null) throw apiRefusal(404, "AGREEMENT_NOT_FOUND", "No agreement is in force.");
  endAgreement(emulator, agreement);
  return json(200, { agreement: findAgreement(emulator, agreement.id) });
}

function updateUser(emulator: Emulator, call: Call): Answer {
  const user = existingUser(emulator, call.params["id"]!);
  const saved = changeUser(emulator, user, parseBody(changedUser, call));
  if (saved.kind === "email_taken")
    throw apiRefusal(409, "EMAIL_TAKEN", "A user with this email exists already.");
  return json(200, { user: saved.user });
}

/** Their agreement ends first, so that its end is told too. */
function removeUser(emulator: Emulator, call: Call): Answer {
  const user = existingUser(emulator, call.params["id"]!);
  const agreement = currentAgreement(emulator, user.customerId);
  if (agreement !== null) endAgreement(emulator, agreement);
  deleteUser(emulator, user);
  return json(200, { deleted: user.id });
}
