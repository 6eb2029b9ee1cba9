/** Management API: webhooks, event types and events (facts §4.1). */
import { z } from "zod";
import { apiRefusal, json, type Answer } from "./answers.ts";
import { parseBody } from "./api-input.ts";
import { requireMachine } from "./bearer.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { timestampText } from "./timestamps.ts";
import { findEventClaims } from "./webhooks-deliveries.ts";
import {
  addEndpoint,
  changeEndpoint,
  ENDPOINTS_MAX,
  findEndpoint,
  listEndpoints,
  removeEndpoint,
  type Endpoint,
} from "./webhooks-endpoints.ts";
import { webhookTarget } from "./webhooks-target.ts";
import { EVENT_TYPES, originOf } from "./webhooks-types.ts";

export const managementWebhookRoutes: readonly Route[] = [
  { method: "GET", path: "/api/v1/webhooks", handler: getWebhooks },
  { method: "POST", path: "/api/v1/webhooks", handler: createWebhook },
  { method: "PATCH", path: "/api/v1/webhooks/{id}", handler: updateWebhook },
  { method: "DELETE", path: "/api/v1/webhooks/{id}", handler: deleteWebhook },
  { method: "GET", path: "/api/v1/event_types", handler: getEventTypes },
  { method: "GET", path: "/api/v1/events/{event_id}", handler: getEvent },
];

const eventTypes = z.array(z.enum(EVENT_TYPES)).min(1);
const name = z.string().min(1).max(100);
const description = z.string().max(1_000).nullable();

const newWebhook = z.object({
  endpoint: z.string(),
  event_types: eventTypes,
  name,
  description: description.default(""),
});

const changedWebhook = z.object({
  event_types: eventTypes.optional(),
  name: name.optional(),
  description: description.optional(),
  /** The address of one that exists cannot be changed; not to say so would be a trap. */
  endpoint: z.undefined("cannot be changed").optional(),
});

function getWebhooks(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "read:webhooks");
  return json(200, {
    code: "OK",
    message: "Success",
    webhooks: listEndpoints(emulator).map((endpoint) => webhookAnswer(endpoint)),
  });
}

function webhookAnswer(endpoint: Endpoint): Record<string, unknown> {
  return {
    id: endpoint.id,
    name: endpoint.name,
    endpoint: endpoint.url,
    description: endpoint.description,
    event_types: endpoint.eventTypes ?? EVENT_TYPES,
    created_on: timestampText(endpoint.madeAtMs, { twoDigitOffset: false }),
    is_disabled: endpoint.disabledAtMs !== null,
    disabled_reason: endpoint.disabledReason,
  };
}

function createWebhook(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "create:webhooks");
  const body = parseBody(newWebhook, call);
  const url = webhookTarget(body.endpoint);
  if (url === null) {
    throw apiRefusal(400, "INVALID_ENDPOINT", "endpoint must be an http URL on loopback.");
  }
  const added = addEndpoint(emulator, {
    url,
    name: body.name,
    description: body.description ?? "",
    eventTypes: body.event_types,
  });
  if (added === null) throw apiRefusal(400, "TOO_MANY_WEBHOOKS", `There are ${ENDPOINTS_MAX} already.`);
  return json(200, { code: "OK", message: "Success", webhook: { id: added.id, endpoint: added.url } });
}

function updateWebhook(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "update:webhooks");
  const endpoint = existing(emulator, call);
  const body = parseBody(changedWebhook, call);
  changeEndpoint(emulator, endpoint.id, {
    name: body.name ?? endpoint.name,
    description: body.description === undefined ? endpoint.description : (body.description ?? ""),
    eventTypes: body.event_types ?? endpoint.eventTypes,
  });
  return json(200, { code: "OK", message: "Success", webhook: { id: endpoint.id } });
}

function deleteWebhook(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "delete:webhooks");
  const { id } = existing(emulator, call);
  removeEndpoint(emulator, id);
  return json(200, { code: "OK", message: "Success", webhook: { id } });
}

function existing(emulator: Emulator, { params }: Call): Endpoint {
  const endpoint = findEndpoint(emulator, params["id"]!);
  if (endpoint === null) throw apiRefusal(404, "WEBHOOK_NOT_FOUND", "There is no such webhook.");
  return endpoint;
}

function getEventTypes(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "read:event_types");
  return json(200, {
    code: "OK",
    message: "Success",
    event_types: EVENT_TYPES.map((code, index) => ({
      id: `event_type_${String(index + 1).padStart(4, "0")}`,
      code,
      name: code.replace(/^customer\./, "").replaceAll(/[_.]/g, " "),
      origin: originOf(code),
      schema: {},
    })),
  });
}

/** `timestamp` is a number here, as the specification has it, and text in the webhook. */
function getEvent(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "read:events");
  const claims = findEventClaims(emulator, call.params["event_id"]!);
  if (claims === null) throw apiRefusal(404, "EVENT_NOT_FOUND", "There is no such event.");
  const { type, event_id, source, data, timestamp } = claims;
  return json(200, {
    code: "OK",
    message: "Success",
    event: { type, event_id, source, timestamp: Date.parse(timestamp), data },
  });
}
