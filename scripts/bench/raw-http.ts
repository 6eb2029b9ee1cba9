// Requests on kept-alive connections. Written on sockets: on two cores an HTTP client costs as much as the server it
// measures, and would make every server look alike.
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = `0${HEAD_END}`;

export interface Sent {
  readonly seconds: number;
  /** From sending a request to having its whole answer, one value for each. */
  readonly answerMs: readonly number[];
  /** Bodies in the order of their requests. */
  readonly bodies: readonly string[];
}

export interface Requests {
  readonly port: number;
  readonly count: number;
  readonly atATime: number;
  /** The text of a request; `lane` is the connection it goes on. */
  readonly requestOf: (index: number, lane: number) => string;
  /** What every answer has to have. */
  readonly status: number;
}

/** Sends `count` requests, `atATime` at once. Throws when an answer has another status or a connection ends. */
export async function sendMany({ port, count, atATime, requestOf, status }: Requests): Promise<Sent> {
  const sockets = await Promise.all(Array.from({ length: atATime }, () => open(port)));
  const answerMs: number[] = [];
  const bodies: string[] = [];
  let sent = 0;
  const startMs = performance.now();
  const run = async (socket: Socket, lane: number) => {
    while (sent < count) {
      const index = sent++;
      const sentAtMs = performance.now();
      socket.write(requestOf(index, lane));
      bodies[index] = await answered(socket, status);
      answerMs.push(performance.now() - sentAtMs);
    }
  };
  await Promise.all(sockets.map(run));
  const seconds = (performance.now() - startMs) / 1000;
  for (const socket of sockets) socket.destroy();
  return { seconds, answerMs, bodies };
}

/** Follows a short link as a browser does: the headers are part of what a server works on. */
export function followMany(
  { port, path }: { readonly port: number; readonly path: string },
  count: number,
  atATime: number,
): Promise<Sent> {
  const requestOf = (_index: number, lane: number): string =>
    [
      `GET ${path} HTTP/1.1`,
      "host: 127.0.0.1",
      "user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
      "accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
      "accept-language: en-GB,en;q=0.9",
      "accept-encoding: gzip, deflate, br, zstd",
      `referer: https://news.example/item/${lane}`,
      "sec-fetch-mode: navigate",
      HEAD_END.slice(2),
    ].join("\r\n");
  return sendMany({ port, count, atATime, requestOf, status: 302 });
}

/** A call of the API with a JSON body. */
export function postText(path: string, token: string, body: object): string {
  const text = JSON.stringify(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    `authorization: Bearer ${token}`,
    "accept: application/json",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(text)}`,
  ];
  return head.join("\r\n") + HEAD_END + text;
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  return socket;
}

/** The body of the answer that comes next. */
function answered(socket: Socket, status: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const settle = (error: Error | null, body = "") => {
      socket.off("data", onData).off("close", onClose).off("error", settle);
      if (error) reject(error);
      else resolve(body);
    };
    const onClose = () => settle(new Error("the server closed the connection"));
    const onData = (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const body = bodyOf(text);
      if (body === null) return;
      const isRight = text.startsWith(`HTTP/1.1 ${status} `);
      settle(isRight ? null : new Error(`not ${status}: ${text.slice(0, 400)}`), body);
    };
    socket.on("data", onData).on("close", onClose).on("error", settle);
  });
}

/** The body once all of it is here, else null. It ends with the last chunk, after its length, or there is none. */
function bodyOf(text: string): string | null {
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd === -1) return null;
  const head = text.slice(0, headEnd);
  const body = text.slice(headEnd + HEAD_END.length);
  if (/^transfer-encoding: chunked/im.test(head)) return body.endsWith(LAST_CHUNK) ? body : null;
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
  return body.length >= length ? body : null;
}
