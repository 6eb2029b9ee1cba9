// Follows a short link over and over on kept-alive connections. Written on sockets: on two cores an HTTP client costs as
// much as the server it measures, and would make every server look alike.
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const REQUEST_END = "\r\n\r\n";
const LAST_CHUNK = `${REQUEST_END}0${REQUEST_END}`;

export interface Followed {
  readonly seconds: number;
  /** From sending a request to having its whole answer, one value for each. */
  readonly answerMs: readonly number[];
}

/** Sends `count` requests, `atATime` at once. Throws when an answer is anything but 302 or a connection ends. */
export async function followMany(
  { port, path }: { readonly port: number; readonly path: string },
  count: number,
  atATime: number,
): Promise<Followed> {
  const sockets = await Promise.all(Array.from({ length: atATime }, () => open(port)));
  const answerMs: number[] = [];
  let sent = 0;
  const startMs = performance.now();
  const lane = async (socket: Socket, number: number) => {
    while (sent < count) {
      sent += 1;
      const sentAtMs = performance.now();
      socket.write(request(path, number));
      await answered(socket);
      answerMs.push(performance.now() - sentAtMs);
    }
  };
  await Promise.all(sockets.map(lane));
  const seconds = (performance.now() - startMs) / 1000;
  for (const socket of sockets) socket.destroy();
  return { seconds, answerMs };
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  return socket;
}

/** As a browser sends it: the headers are part of what a server works on. */
function request(path: string, number: number): string {
  return [
    `GET ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    "user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
    "accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "accept-language: en-GB,en;q=0.9",
    "accept-encoding: gzip, deflate, br, zstd",
    `referer: https://news.example/item/${number}`,
    "sec-fetch-mode: navigate",
    REQUEST_END.slice(2),
  ].join("\r\n");
}

/** Neither server sends a body: an answer ends with its headers, or with the last chunk where it says it has chunks. */
function answered(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let head = "";
    const settle = (error: Error | null) => {
      socket.off("data", onData).off("close", onClose).off("error", settle);
      if (error) reject(error);
      else resolve();
    };
    const onClose = () => settle(new Error("the server closed the connection"));
    const onData = (chunk: Buffer) => {
      head += chunk.toString("latin1");
      if (!head.endsWith(/^transfer-encoding: chunked/im.test(head) ? LAST_CHUNK : REQUEST_END)) return;
      settle(head.startsWith("HTTP/1.1 302") ? null : new Error(`not a redirect: ${head.slice(0, 200)}`));
    };
    socket.on("data", onData).on("close", onClose).on("error", settle);
  });
}
