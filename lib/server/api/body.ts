import type { PlainRequest } from "../http.ts";
import { ApiProblem } from "./answers.ts";
import { spoilRoundedNumbers } from "./exact-numbers.ts";

/** Largest request body, in bytes. Ours are under 1 KB; the rest is room for long keys and names. */
export const BODY_BYTES_MAX = 64 * 1024;

const JSON_TYPE = /^application\/(?:[\w.!#$&^-]+\+)?json\s*(?:;|$)/i;

/**
 * Reads a JSON body. A body over `BODY_BYTES_MAX` is refused by its declared length, or as soon as the count passes
 * the maximum, so it is never held in memory whole. `optional` lets an empty body stand for `{}`.
 * Throws `ApiProblem` (`too_large`, `invalid`).
 */
export async function readJsonBody(request: PlainRequest, optional: boolean): Promise<unknown> {
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > BODY_BYTES_MAX) throw tooLarge();
  const text = await readText(request);
  if (text === "" && optional) return {};
  if (text === "") throw invalidBody("A JSON object is needed as the body.");
  const type = request.headers.get("content-type") ?? "";
  if (!JSON_TYPE.test(type.trim())) {
    throw invalidBody("Send the body with the header Content-Type: application/json.");
  }
  try {
    const value: unknown = JSON.parse(text);
    const exact = spoilRoundedNumbers(text);
    return exact === text ? value : JSON.parse(exact);
  } catch {
    // The parser's own message quotes the body, which may hold what must not be repeated.
    throw invalidBody("The body is not well-formed JSON.");
  }
}

async function readText({ body }: PlainRequest): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let bytes = 0;
  let text = "";
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (bytes > BODY_BYTES_MAX) throw tooLarge();
      text += decode(decoder, chunk);
    }
  } catch (error) {
    if (error instanceof ApiProblem) throw error;
    // The caller went before the end. Nobody reads this answer, and it is no fault of ours to be logged.
    throw invalidBody("The body ended before it was complete.");
  }
  return text + decode(decoder);
}

function decode(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    throw invalidBody("The body is not UTF-8 text.");
  }
}

function tooLarge(): ApiProblem {
  return new ApiProblem("too_large", `The body is larger than ${BODY_BYTES_MAX} bytes.`, {
    extra: { maximumBytes: BODY_BYTES_MAX },
  });
}

function invalidBody(message: string): ApiProblem {
  return new ApiProblem("invalid", message, { errors: [{ path: "", message }] });
}
