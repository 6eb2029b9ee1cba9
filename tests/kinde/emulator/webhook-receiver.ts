/** Who webhooks are sent to: keeps what came and answers as it is told. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { compactVerify, createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet } from "jose";
import { expect } from "vitest";
import { control, send, type Caller } from "./calls.ts";

export interface Received {
  readonly path: string;
  readonly webhookId: string;
  readonly contentType: string;
  readonly token: string;
}

/** A status, no answer at all, or a connection that breaks. */
export type ReceiverAnswer = number | "hang" | "reset";

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Asked for each webhook, which is in `received` then. */
  answer: (webhook: Received) => ReceiverAnswer | Promise<ReceiverAnswer>;
  close(): Promise<void>;
}

export async function openReceiver(port = 0): Promise<Receiver> {
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const received: Received[] = [];
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer: () => 200,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const webhook = {
      path: request.url!,
      webhookId: String(request.headers["webhook-id"]),
      contentType: String(request.headers["content-type"]),
      token: Buffer.concat(chunks).toString("utf8"),
    };
    received.push(webhook);
    const answer = await receiver.answer(webhook);
    if (answer === "hang") return;
    if (answer === "reset") response.destroy();
    else response.writeHead(answer, { location: "/elsewhere" }).end("thanks");
  }

  return receiver;
}

/** The claims, when a published key has signed them. Throws jose's error otherwise. */
export async function verified(issuer: string, { token }: Received): Promise<Record<string, unknown>> {
  const jwks = (await send(`${issuer}/.well-known/jwks`)).json as JSONWebKeySet;
  const { payload } = await compactVerify(token, createLocalJWKSet(jwks), { algorithms: ["RS256"] });
  return JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown>;
}

export function kidOf({ token }: Received): string | undefined {
  return decodeProtectedHeader(token).kid;
}

/** The claims, whoever signed them. */
export function claimsOf({ token }: Received): Record<string, unknown> {
  return decodeJwt(token);
}

export function typeOf(webhook: Received): string {
  return String(claimsOf(webhook)["type"]);
}

export interface DeliveryView {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly status: string;
  readonly attemptsMade: number;
  readonly nextAttemptAtMs: number | null;
  readonly faults: string[];
  readonly attempts: { status: number | null; failure: string | null; faults: string[] }[];
}

/** All deliveries, oldest first. */
export async function deliveriesOf(issuer: string, query = ""): Promise<DeliveryView[]> {
  const { json } = await control(issuer)(`/control/webhooks?limit=500${query}`);
  return (json.deliveries as DeliveryView[]).toReversed();
}

/** Waits until every delivery is as far as it gets by itself: finished, or to be tried again at a later time. */
export async function settled(issuer: string, nowMs: () => number, query = ""): Promise<DeliveryView[]> {
  let deliveries: DeliveryView[] = [];
  const isSettled = (one: DeliveryView) => one.nextAttemptAtMs === null || one.nextAttemptAtMs > nowMs();
  await expect
    .poll(
      async () => {
        deliveries = await deliveriesOf(issuer, query);
        return deliveries.every(isSettled);
      },
      { timeout: 10_000, interval: 5 },
    )
    .toBe(true);
  return deliveries;
}

export async function addWebhook(call: Caller, endpoint: string, eventTypes: string[]): Promise<string> {
  const reply = await call("/api/v1/webhooks", { endpoint, event_types: eventTypes, name: "Test" });
  expect(reply.status).toBe(200);
  return reply.json.webhook.id;
}

/** Tells an event by hand. Returns its id. */
export async function tell(
  issuer: string,
  userId: string,
  type: string,
  change: Record<string, unknown> = {},
): Promise<string> {
  const reply = await control(issuer)(`/control/users/${userId}/events`, { type, ...change });
  expect(reply.status).toBe(201);
  return reply.json.eventId;
}
