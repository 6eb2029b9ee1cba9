/** Reading a bounded JSON body and writing JSON answers on plain Node HTTP. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { RequestError } from "./errors.ts";

/** Arguments may be 16 MiB; the rest of a request body is small. */
const BODY_BYTES_MAX = 17 * 1024 * 1024;

/** The parsed body. @throws RequestError 400 or 413 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await readBody(request);
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    throw new RequestError(400, "BadJsonBody", "The body is not valid JSON.");
  }
}

/** Not `for await`: leaving that loop early destroys the socket, and the 413 with it. */
function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) {
        chunks.push(chunk);
        return;
      }
      request.removeAllListeners("data");
      request.pause();
      reject(new RequestError(413, "BodyTooLarge", `The body is larger than ${BODY_BYTES_MAX} bytes.`));
    });
    request.once("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    request.once("error", reject);
    request.once("close", () => reject(new RequestError(400, "BodyAborted", "The body ended early.")));
  });
}

export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  contentType = "text/plain",
): void {
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

export function sendJson(response: ServerResponse, status: number, text: string): void {
  sendText(response, status, text, "application/json");
}
