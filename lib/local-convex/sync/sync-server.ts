/**
 * Convex's sync endpoint, `/api/<version>/sync`: takes WebSocket upgrades of the HTTP server and keeps their
 * connections alive. Web pages reach it only from a loopback origin, whatever name they used for this host.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import type { Engine } from "../engine.ts";
import { isLoopbackHost, isLoopbackOrigin } from "../loopback.ts";
import type { Authenticate } from "./authenticate.ts";
import { Connection, type SyncHost } from "./connection.ts";
import { HEARTBEAT, heartbeatOf, type HeartbeatTimes } from "./heartbeat.ts";
import { LiveQueries } from "./live-queries.ts";
import { MutationRecords } from "./mutation-records.ts";

export interface SyncOptions {
  authenticate: Authenticate;
  /** Wall clock, by which tokens expire and silence is measured. */
  nowMs: () => number;
  heartbeat?: HeartbeatTimes;
}

const SYNC_PATH = /^\/+api\/(?:[^/?]+\/)?sync(?:\?|$)/;
/** Arguments have at most 16 MiB, and after a reconnect one frame adds all queries of a client. */
const FRAME_BYTES_MAX = 64 * 1024 * 1024;
const CLOSE_RESTARTING = 1012;
/** How long clients may take to say goodbye. */
const CLOSE_WITHIN_MS = 1_000;

export class SyncServer {
  private readonly connections = new Map<WebSocket, Connection>();
  private readonly sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: FRAME_BYTES_MAX,
  });
  private readonly host: SyncHost;
  private readonly timer: NodeJS.Timeout;
  private isClosed = false;

  constructor(
    { runtime }: Engine,
    private readonly options: SyncOptions,
  ) {
    const { authenticate, nowMs, heartbeat = HEARTBEAT } = options;
    const live = new LiveQueries(runtime);
    const records = new MutationRecords(runtime);
    this.host = { runtime, live, records, authenticate, nowMs };
    records.start();
    this.timer = setInterval(() => this.beat(heartbeat), heartbeat.probeEveryMs);
    this.timer.unref();
  }

  /** Serves an HTTP upgrade request. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => undefined);
    const { host, origin } = request.headers;
    if (!isLoopbackHost(host) || (origin !== undefined && !isLoopbackOrigin(origin)))
      return refuse(socket, "403 Forbidden", "Only loopback hosts and origins are served.");
    if (!SYNC_PATH.test(request.url ?? ""))
      return refuse(socket, "404 Not Found", "There is no WebSocket here.");
    if (this.isClosed) return refuse(socket, "503 Service Unavailable", "Shutting down.");
    this.sockets.handleUpgrade(request, socket, head, (client) => {
      const connection = new Connection(this.host, client, {
        ip: request.socket.remoteAddress ?? null,
        userAgent: request.headers["user-agent"] ?? null,
      });
      this.connections.set(client, connection);
      client.once("close", () => this.connections.delete(client));
    });
  }

  /** Sends all clients away; they will look for the engine again. */
  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    this.host.records.stop();
    this.host.live.close();
    for (const [socket, connection] of this.connections) {
      connection.close(CLOSE_RESTARTING, "Restarting");
      setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS).unref();
    }
  }

  private beat(times: HeartbeatTimes): void {
    const nowMs = this.options.nowMs();
    for (const [socket, { outbox, lastHeardMs }] of this.connections) {
      const due = heartbeatOf(times, nowMs, outbox.lastSentMs, lastHeardMs);
      if (due === "drop") {
        socket.terminate();
        continue;
      }
      if (due === "ping") outbox.send('{"type":"Ping"}');
      if (socket.readyState === socket.OPEN) socket.ping();
    }
  }
}

function refuse(socket: Duplex, status: string, text: string): void {
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
}
