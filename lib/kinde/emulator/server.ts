/**
 * The emulator as a server: one request after the other through host check, route, faults, endpoint, answer. It binds
 * loopback and answers only requests whose Host names loopback, so no page elsewhere reaches it by DNS tricks.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { accountRoutes } from "./account-api.ts";
import { errorsAnswer, Refusal, type Answer } from "./answers.ts";
import { authorizeRoutes } from "./authorize.ts";
import type { Catalogue } from "./catalogue.ts";
import type { EmulatorConfig } from "./config.ts";
import type { Call, ChangeSource, Emulator, Route } from "./context.ts";
import { authorizeControl, controlRoutes } from "./control.ts";
import { discoveryRoutes } from "./discovery.ts";
import { cutBody, effectOf } from "./fault-effects.ts";
import { Faults } from "./faults.ts";
import { openKeys } from "./keys.ts";
import { isLoopbackHost, isLoopbackHostHeader } from "./loopback.ts";
import { managementBillingRoutes } from "./management-billing.ts";
import { managementMeterRoutes } from "./management-meters.ts";
import { managementUserRoutes } from "./management-users.ts";
import { portalRoutes } from "./portal.ts";
import { readBody } from "./request-body.ts";
import { RequestLog } from "./request-log.ts";
import { matchRoute } from "./router.ts";
import type { Storage } from "./storage.ts";
import { tokenRoutes } from "./token-endpoint.ts";
import { managementWebhookRoutes } from "./webhooks-api.ts";
import { DeliveryClock } from "./webhooks-clock.ts";
import { webhookControlRoutes } from "./webhooks-control.ts";
import { placeDefaultEndpoint } from "./webhooks-endpoints.ts";
import { WebhookSender } from "./webhooks-sender.ts";

export interface EmulatorOptions {
  readonly config: EmulatorConfig;
  readonly catalogue: Catalogue;
  readonly storage: Storage;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly wallNowMs: () => number;
  readonly nowMs: () => number;
  /** Told of a fault of this program: a request that failed in an unforeseen way. */
  readonly report: (error: unknown) => void;
}

export interface RunningEmulator {
  readonly issuer: string;
  close(): Promise<void>;
}

/** All that is not the control API. */
export const PUBLIC_ROUTES: readonly Route[] = [
  ...discoveryRoutes,
  ...authorizeRoutes,
  ...tokenRoutes,
  ...accountRoutes,
  ...managementUserRoutes,
  ...managementBillingRoutes,
  ...managementMeterRoutes,
  ...managementWebhookRoutes,
  ...portalRoutes,
];

/** Throws Error with one line when the host is not loopback or the port is taken. The caller closes the storage. */
export async function startEmulator(options: EmulatorOptions): Promise<RunningEmulator> {
  const { host, config, catalogue, storage, wallNowMs, nowMs } = options;
  if (!isLoopbackHost(host))
    throw new Error(`--host ${host} is not loopback; the emulator is for this machine only.`);
  const keys = openKeys(storage, wallNowMs());
  const server = createServer();
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const deliveryClock = DeliveryClock.open(storage, wallNowMs, config.webhookTimeScale);
  const world = { config, catalogue, storage, keys, issuer, wallNowMs, nowMs, deliveryClock };
  const service = new Service({ ...world, source: "admin" }, options.report);
  server.on("request", (request, response) => void service.serve(request, response));
  return {
    issuer,
    async close() {
      service.stop();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        // Requests that a fault keeps hanging would keep it open for ever.
        server.closeAllConnections();
      });
    },
  };
}

class Service {
  private readonly faults = new Faults();
  private readonly log = new RequestLog();
  private readonly sender: WebhookSender;
  private readonly routes: readonly Route[];
  private readonly timers = new Set<NodeJS.Timeout>();

  constructor(
    private readonly emulator: Emulator,
    private readonly report: (error: unknown) => void,
  ) {
    this.sender = new WebhookSender(emulator, this.faults, report);
    this.routes = [
      ...PUBLIC_ROUTES,
      ...controlRoutes(this.faults, this.log),
      ...webhookControlRoutes(this.sender),
    ];
    placeDefaultEndpoint(emulator);
    this.sender.wake();
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const call = await readCall(request);
      if (call.path.startsWith("/control")) {
        authorizeControl(this.emulator, call);
        return send(response, call, this.run(call));
      }
      await this.serveWithFaults(call, request, response);
    } catch (error) {
      if (response.headersSent || response.destroyed) return;
      send(response, null, this.failure(error));
    }
  }

  /** Drops late writes that are still to come, as a stop of the real thing would. */
  stop(): void {
    this.sender.stop();
    for (const timer of this.timers) clearTimeout(timer);
  }

  private async serveWithFaults(
    call: Call,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { emulator, faults } = this;
    const nowMs = emulator.wallNowMs();
    const { method, path } = call;
    const strike = faults.strike(method, path, nowMs);
    const entry = this.log.add({ atMs: nowMs, method, path, faults: strike.names });
    for (const { fault, settings } of strike.passing) {
      if (fault === "slow") await this.wait(settings.delayMs);
      else emulator.keys.rotate(nowMs, { retireOld: settings.retireOld });
    }
    const struck = { ...call, shape: strike.shape };
    const effect =
      strike.ending === null ? null : effectOf(strike.ending.fault, strike.ending.settings, path);
    switch (effect?.kind) {
      case "hang":
        return;
      case "hang_up":
        if (effect.runs === "before") this.run(struck);
        else this.later(effect.lateMs, () => this.run(struck));
        request.socket.destroy();
        return;
    }
    const answer = effect?.kind === "answer" ? effect.answer : this.run(struck);
    const sent = effect?.kind === "cut_body" ? cutBody(answer) : answer;
    entry.status = sent.status;
    send(response, call, sent);
  }

  /** Runs the endpoint in one transaction. A refusal is an answer too; what it wrote before is undone. */
  private run(call: Call): Answer {
    try {
      const match = matchRoute(this.routes, call.method, call.path);
      if (match.kind === "not_found")
        return errorsAnswer(404, "ROUTE_NOT_FOUND", "The emulator has no such path.");
      if (match.kind === "wrong_method") {
        const answer = errorsAnswer(405, "METHOD_NOT_ALLOWED", `This path answers ${match.allow}.`);
        return { ...answer, headers: { ...answer.headers, allow: match.allow } };
      }
      const { route, params } = match;
      const emulator = { ...this.emulator, source: sourceOf(call.path) };
      return emulator.storage.transaction(() => route.handler(emulator, { ...call, params }));
    } catch (error) {
      return this.failure(error);
    } finally {
      this.sender.wake();
    }
  }

  private failure(error: unknown): Answer {
    if (error instanceof Refusal) return error.answer;
    this.report(error);
    return errorsAnswer(500, "EMULATOR_FAILED", "The emulator failed; its log says why.");
  }

  private wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.later(delayMs, resolve));
  }

  private later(delayMs: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      work();
    }, delayMs);
    this.timers.add(timer);
  }
}

/** Operators use the control API, machines the management API, and users the pages and the API of accounts. */
function sourceOf(path: string): ChangeSource {
  if (path.startsWith("/control")) return "admin";
  return path.startsWith("/api/") ? "api" : "user";
}

async function readCall(request: IncomingMessage): Promise<Call> {
  if (!isLoopbackHostHeader(request.headers.host)) {
    throw new Refusal(errorsAnswer(403, "HOST_REFUSED", "Only requests to a loopback host are answered."));
  }
  const url = URL.parse((request.url ?? "/").replace(/^\/+/, "/"), "http://localhost");
  if (url === null)
    throw new Refusal(errorsAnswer(400, "INVALID_REQUEST", "The request target is not a URL."));
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
  const body = await readBody(request);
  return {
    method: request.method ?? "GET",
    path: url.pathname,
    params: {},
    query: url.searchParams,
    headers,
    body,
    shape: new Map(),
  };
}

function send(response: ServerResponse, call: Call | null, { status, headers, body }: Answer): void {
  if (response.destroyed) return;
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  response.end(call?.method === "HEAD" ? "" : body);
}

function listen(server: Server, { host, port }: EmulatorOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const inUse = `Port ${port} is in use. Choose another with --port (npm start: --kinde-port).`;
      reject(error.code === "EADDRINUSE" ? new Error(inUse) : error);
    });
    server.listen(port, host, () => resolve());
  });
}
