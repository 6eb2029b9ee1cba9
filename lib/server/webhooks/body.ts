import { BODY_BYTES_MAX } from "../../inbox/verify.ts";
import type { PlainRequest } from "../http.ts";

export type RawBody =
  | { readonly kind: "read"; readonly bytes: Uint8Array }
  | { readonly kind: "too_large" }
  /** The sender went before the end. */
  | { readonly kind: "cut" };

/**
 * The body as it was sent, never more than `BODY_BYTES_MAX` of it: a larger one is refused by its declared length, or
 * as soon as the count passes the maximum.
 */
export async function readRawBody({ headers, body }: PlainRequest): Promise<RawBody> {
  if (Number(headers.get("content-length") ?? "0") > BODY_BYTES_MAX) return { kind: "too_large" };
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > BODY_BYTES_MAX) return { kind: "too_large" };
      chunks.push(chunk);
    }
  } catch {
    return { kind: "cut" };
  }
  return { kind: "read", bytes: Buffer.concat(chunks) };
}
