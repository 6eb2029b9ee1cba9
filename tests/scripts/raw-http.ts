import { connect } from "node:net";
import { text } from "node:stream/consumers";

/** One answer as it came over the connection; the body without its chunks. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends bytes on a connection of their own and reads what comes until the other side closes it. */
export async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.write(Buffer.from(bytes, "latin1"));
  return await text(socket.setEncoding("latin1"));
}

/** Sends a part of a request and cuts the connection. */
export function sendAndCut(port: number, bytes: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port }, () => {
      socket.write(bytes, "latin1", () => socket.resetAndDestroy());
    });
    socket.once("error", reject);
    socket.once("close", () => resolve());
  });
}

/** What comes first; the connection is cut then. */
export function firstBytes(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("data", (data) => {
      resolve(data.toString("latin1"));
      socket.destroy();
    });
    socket.once("error", reject);
    socket.write(bytes, "latin1");
  });
}

/** The answers in what a connection brought. `method`: a HEAD is answered with the length of a body and without it. */
export function readAnswers(stream: string, method = "GET"): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = stream;
  while (rest !== "") {
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd === -1) throw new Error(`no whole head: ${rest.slice(0, 200)}`);
    const [statusLine = "", ...lines] = rest.slice(0, headEnd).split("\r\n");
    const headers = Object.fromEntries(lines.map(headerOf));
    const status = Number(statusLine.split(" ")[1]);
    rest = rest.slice(headEnd + 4);
    const hasBody = method !== "HEAD" && status !== 204 && status >= 200;
    const { body, length } = hasBody ? bodyOf(rest, headers) : { body: "", length: 0 };
    rest = rest.slice(length);
    answers.push({ status, headers, body });
  }
  return answers;
}

function headerOf(line: string): [string, string] {
  const at = line.indexOf(":");
  return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
}

function bodyOf(rest: string, headers: RawAnswer["headers"]): { body: string; length: number } {
  if (headers["transfer-encoding"] !== "chunked") {
    const length = Number(headers["content-length"] ?? rest.length);
    return { body: rest.slice(0, length), length };
  }
  let body = "";
  let at = 0;
  for (;;) {
    const lineEnd = rest.indexOf("\r\n", at);
    const size = Number.parseInt(rest.slice(at, lineEnd), 16);
    body += rest.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
    if (size === 0) return { body, length: at };
  }
}
