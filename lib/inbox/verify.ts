import { compactVerify, decodeProtectedHeader, errors, type CompactJWSHeaderParameters } from "jose";
import { isRecord, parseBody, parseJson, type ParsedBody } from "./event.ts";
import type { KeySource } from "./keys.ts";

/** A larger body is not read: 413. Room for an event of 1 MB, which its token makes a third longer. */
export const BODY_BYTES_MAX = 2 * 1024 * 1024;

/** Why a body is not taken for a webhook of the tenant. Nothing of it is stored; the code is counted. */
export type RefusalCode =
  | "not_a_token"
  | "algorithm"
  | "embedded_key"
  | "no_key_id"
  | "unknown_key"
  | "signature"
  | "issuer"
  | "user_token";

export type Verdict =
  | {
      readonly kind: "verified";
      readonly body: ParsedBody;
      /** The signed bytes as text, without a byte order mark: what is stored. */
      readonly payload: string;
      /** SHA-256 of the signed bytes, in hex. Equal for a body that was signed again with a newer key. */
      readonly payloadHash: string;
      readonly kid: string;
    }
  | { readonly kind: "refused"; readonly status: 401; readonly code: RefusalCode }
  /** Not to be judged now. Kinde sends it again. */
  | { readonly kind: "undecided"; readonly status: 503; readonly code: "too_soon" | "unavailable" };

export interface VerifyOptions {
  /** The tenant: what `iss` must be where there is one. */
  readonly issuerUrl: string;
  readonly keys: KeySource;
}

/** Header fields by which a token would bring its own key or its own rules. */
const FOREIGN_KEY_FIELDS = ["jwk", "jku", "x5u", "x5c", "crit"] as const;

/** Claims of access, ID and machine tokens, which the same keys sign. */
const TOKEN_CLAIMS = ["sub", "azp", "scp", "gty", "aud"] as const;

const COMPACT_TOKEN = /^[\w-]+\.[\w-]*\.[\w-]+$/;

/**
 * Judges a delivery by its signed bytes alone: no header of the request has a say. `exp` has none either, because a
 * retry may come 36 hours later; how old an event may be is for the quarantine rule. Rule source: design §6.
 */
export async function verifyDelivery(rawBody: Uint8Array, options: VerifyOptions): Promise<Verdict> {
  // The decoder drops a byte order mark; the blanks around a token are no part of it.
  const token = new TextDecoder().decode(rawBody).trim();
  const header = readHeader(token);
  if (header === null) return refused("not_a_token");
  if (header.alg !== "RS256") return refused("algorithm");
  if (FOREIGN_KEY_FIELDS.some((field) => field in header)) return refused("embedded_key");
  const { kid } = header;
  if (typeof kid !== "string" || kid === "") return refused("no_key_id");

  const lookup = await options.keys.find(kid);
  if (lookup.kind === "undecided") return { kind: "undecided", status: 503, code: lookup.reason };
  if (lookup.kind === "unknown") return refused("unknown_key");
  let bytes: Uint8Array;
  try {
    ({ payload: bytes } = await compactVerify(token, lookup.key, { algorithms: ["RS256"] }));
  } catch (error) {
    if (error instanceof errors.JOSEError) return refused("signature");
    throw error;
  }
  return judgePayload(bytes, kid, options.issuerUrl);
}

async function judgePayload(bytes: Uint8Array, kid: string, issuerUrl: string): Promise<Verdict> {
  const payload = new TextDecoder().decode(bytes);
  const json = parseJson(payload);
  if (isRecord(json)) {
    // Real webhooks may lack it; one that is there must be the tenant's.
    if (json.iss !== undefined && !isIssuer(json.iss, issuerUrl)) return refused("issuer");
    if (typeof json.type !== "string" && TOKEN_CLAIMS.some((claim) => claim in json)) {
      return refused("user_token");
    }
  }
  return { kind: "verified", body: parseBody(json), payload, payloadHash: await sha256Hex(bytes), kid };
}

function readHeader(token: string): CompactJWSHeaderParameters | null {
  if (!COMPACT_TOKEN.test(token)) return null;
  try {
    return decodeProtectedHeader(token) as CompactJWSHeaderParameters;
  } catch {
    return null;
  }
}

function isIssuer(iss: unknown, issuerUrl: string): boolean {
  return typeof iss === "string" && withoutSlash(iss) === withoutSlash(issuerUrl);
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

async function sha256Hex(bytes: Uint8Array): Promise<string> {
  // Copied, because the digest does not take a view of memory that could be shared.
  const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(bytes));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function refused(code: RefusalCode): Verdict {
  return { kind: "refused", status: 401, code };
}
