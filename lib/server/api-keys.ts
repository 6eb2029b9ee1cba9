import { createHash, randomBytes } from "node:crypto";
import type { PlainRequest } from "./http.ts";

/** Random bytes behind a key: 256 bits, 43 characters of base64url. */
const KEY_BYTES = 32;
/** Characters of a key that are stored in the clear, so that a person can tell keys apart: `hf_live_` and four more. */
const PREFIX_LENGTH = 12;
/** Longest credential that is hashed; ours are 51 characters. */
const CREDENTIAL_LENGTH_MAX = 128;

const BEARER = /^bearer +(\S+) *$/i;

export interface NewApiKey {
  /** The key itself. It is answered once and never stored or logged. */
  readonly secret: string;
  readonly keyHash: string;
  readonly prefix: string;
}

/** Hex SHA-256 of a key: the only form in which a key leaves this process. Keys are random, so no salt is needed. */
export function hashApiKey(secret: string): string {
  return createHash("sha256").update(secret, "utf8").digest("hex");
}

/** Makes a key `hf_live_` + 43 characters. `random` is `crypto.randomBytes` outside tests. */
export function createApiKey(random: (size: number) => Uint8Array = randomBytes): NewApiKey {
  const secret = `hf_live_${Buffer.from(random(KEY_BYTES)).toString("base64url")}`;
  return { secret, keyHash: hashApiKey(secret), prefix: secret.slice(0, PREFIX_LENGTH) };
}

/** What an Authorization header holds: the hash of its key, or why there is none. */
export type Credential =
  | { readonly kind: "key"; readonly keyHash: string }
  | { readonly kind: "missing" }
  | { readonly kind: "malformed" };

/** By the headers of a request, which do not change: the guard at the door and the handler both ask. */
const read = new WeakMap<PlainRequest["headers"], Credential>();

/**
 * Reads `Authorization: Bearer hf_…`, once for each request. Whether the key exists is decided by the backend, from its
 * hash.
 */
export function readCredential(headers: PlainRequest["headers"]): Credential {
  const before = read.get(headers);
  if (before !== undefined) return before;
  const credential = credentialIn(headers);
  read.set(headers, credential);
  return credential;
}

function credentialIn(headers: PlainRequest["headers"]): Credential {
  const header = headers.get("authorization");
  if (header === null || header.trim() === "") return { kind: "missing" };
  const token = BEARER.exec(header)?.[1];
  if (token === undefined || !token.startsWith("hf_") || token.length > CREDENTIAL_LENGTH_MAX) {
    return { kind: "malformed" };
  }
  return { kind: "key", keyHash: hashApiKey(token) };
}
