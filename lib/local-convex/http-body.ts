/** Reading a bounded JSON body and writing JSON answers on plain Node HTTP. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { RequestError } from "./errors.ts";

/** Arguments may be 16 MiB; the rest of a request body is small. */
const BODY_BYTES_MAX = 17 * 1024 * 1024;

/** The parsed body. @throws RequestError 400 or 413 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX)
      throw new RequestError(413, "BodyTooLarge", `The body is larger than ${BODY_BYTES_MAX} bytes.`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse((chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString("utf8"));
  } catch {
    throw new RequestError(400, "BadJsonBody", "The body is not valid JSON.");
  }
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
