/** Sync clients without a library: one that speaks the protocol by hand, and a socket that watches a library's. */
import { once } from "node:events";

import { WebSocket, type ClientOptions } from "ws";

/** A message of the protocol or a modification in one; each has only the fields of its type. */
export interface Frame {
  type: string;
  requestId: number;
  queryId: number;
  success: boolean;
  result: unknown;
  value: unknown;
  ts: string;
  error: string;
  logLines: string[];
  journal: string | null;
  chunk: string;
  partNumber: number;
  totalParts: number;
  startVersion: WireVersion;
  endVersion: WireVersion;
  modifications: Frame[];
}

interface WireVersion {
  querySet: number;
  identity: number;
  ts: string;
}

export interface WireClient {
  /** Everything received so far. */
  readonly received: Frame[];
  readonly socket: WebSocket;
  send(...messages: object[]): void;
  /** The first message, received or to come, that fits and was not answered by `next` before. */
  next(type: string, fits?: (frame: Frame) => boolean): Promise<Frame>;
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Values by query id, as all transitions so far make them. */
  values(): Map<number, unknown>;
}

export async function wireClient(
  url: string,
  options: ClientOptions = {},
  path = "/api/1.48.0/sync",
): Promise<WireClient> {
  const socket = new WebSocket(url.replace(/^http/, "ws") + path, options);
  const received: Frame[] = [];
  const taken = new Set<Frame>();
  const waiting = new Set<() => void>();
  socket.on("message", (data: Buffer) => {
    received.push(JSON.parse(data.toString()) as Frame);
    for (const look of waiting) look();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once("close", (code: number, reason: Buffer) => {
      resolve({ code, reason: reason.toString() });
      for (const look of waiting) look();
    });
  });
  await once(socket, "open");
  return {
    received,
    socket,
    closed,
    send(...messages) {
      for (const message of messages) socket.send(JSON.stringify(message));
    },
    next(type, fits = () => true) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          const found = received.find((frame) => frame.type === type && !taken.has(frame) && fits(frame));
          if (found !== undefined) {
            taken.add(found);
            resolve(found);
          } else if (socket.readyState === WebSocket.CLOSED) reject(new Error(`closed before any ${type}`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      });
    },
    values() {
      const values = new Map<number, unknown>();
      for (const { type, modifications } of received) {
        if (type !== "Transition") continue;
        for (const { type: kind, queryId, value } of modifications)
          if (kind === "QueryUpdated") values.set(queryId, value);
          else values.delete(queryId);
      }
      return values;
    },
  };
}

/** Handshake and first query set; answers the first transition. */
export async function subscribed(
  client: WireClient,
  queries: { path: string; args?: object; journal?: string | null }[],
  sessionId = crypto.randomUUID(),
): Promise<Frame> {
  client.send(connect(sessionId), querySet(0, queries));
  return client.next("Transition");
}

export function connect(sessionId: string = crypto.randomUUID(), more: object = {}): object {
  return { type: "Connect", sessionId, connectionCount: 0, lastCloseReason: null, clientTs: 0, ...more };
}

/** Adds queries with ids that count up from `firstId`, as the next version after `baseVersion`. */
export function querySet(
  baseVersion: number,
  queries: { path: string; args?: object; journal?: string | null }[],
  firstId = 0,
): object {
  return {
    type: "ModifyQuerySet",
    baseVersion,
    newVersion: baseVersion + 1,
    modifications: queries.map(({ path, args = {}, journal }, i) => ({
      type: "Add",
      queryId: firstId + i,
      udfPath: path,
      args: [args],
      ...(journal === undefined ? {} : { journal }),
    })),
  };
}

export function mutation(requestId: number, path: string, args: object = {}): object {
  return { type: "Mutation", requestId, udfPath: path, args: [args] };
}

export function tsOf(text: string): bigint {
  return Buffer.from(text, "base64").readBigUInt64LE();
}

/** What a library's sockets say and hear. */
export interface Tap {
  readonly webSocketConstructor: never;
  readonly sent: Frame[];
  readonly received: Frame[];
  readonly sockets: WebSocket[];
  /** Loses the connection in place of the next message that this is true for. */
  dropBefore(lost: ((frame: Frame) => boolean) | null): void;
}

export function tap(): Tap {
  const sent: Frame[] = [];
  const received: Frame[] = [];
  const sockets: WebSocket[] = [];
  let isLost: ((frame: Frame) => boolean) | null = null;
  class TappedSocket extends WebSocket {
    constructor(url: string) {
      super(url);
      sockets.push(this);
    }
    override send(data: string): void {
      sent.push(JSON.parse(data) as Frame);
      super.send(data);
    }
    override emit(event: string, ...args: unknown[]): boolean {
      if (event === "message") {
        const frame = JSON.parse((args[0] as Buffer).toString()) as Frame;
        if (isLost?.(frame) === true) {
          isLost = null;
          this.terminate();
          return true;
        }
        received.push(frame);
      }
      return super.emit(event, ...args);
    }
  }
  return {
    webSocketConstructor: TappedSocket as never,
    sent,
    received,
    sockets,
    dropBefore(lost) {
      isLost = lost;
    },
  };
}
