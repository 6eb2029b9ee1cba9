import { createHash } from "node:crypto";
import { readCredential } from "./api-keys.ts";
import type { PlainRequest } from "./http.ts";
import { BoundedMap } from "./redirect/bounded-map.ts";
import { readSessionToken } from "./session-token.ts";

/** What a request shows to be answered. `hash` is the SHA-256 of the key or of the session's token. */
export interface ShownCredential {
  readonly kind: "key" | "session";
  readonly hash: string;
}

/** Null: nothing that could turn out to be good. As in the API an Authorization header always decides. */
export function shownBy(request: PlainRequest): ShownCredential | null {
  const credential = readCredential(request.headers);
  if (credential.kind === "key") return { kind: "key", hash: credential.keyHash };
  const token = credential.kind === "missing" ? readSessionToken(request) : null;
  return token === null ? null : { kind: "session", hash: createHash("sha256").update(token).digest("hex") };
}

/** Of either kind. A flood of wrong ones pushes out no good one. */
const KNOWN_MAX = 10_000;

/**
 * Keys and sessions by how they were answered lately, in bounded memory. A session is never known as wrong: 401 is also
 * what a path answers that takes keys alone.
 */
export class KnownCredentials {
  readonly #good = new BoundedMap<true>({ entriesMax: KNOWN_MAX, bytesMax: Number.POSITIVE_INFINITY });
  readonly #wrong = new BoundedMap<true>({ entriesMax: KNOWN_MAX, bytesMax: Number.POSITIVE_INFINITY });

  isGood({ hash }: ShownCredential): boolean {
    return this.#good.get(hash) === true;
  }

  isWrong({ hash }: ShownCredential): boolean {
    return this.#wrong.get(hash) === true;
  }

  /** What an answer says: any other than success and 401 is about the request, or about what this one may do. */
  note({ kind, hash }: ShownCredential, status: number): "good" | "wrong" | "open" {
    if (status === 401) {
      this.#good.delete(hash);
      if (kind === "key") this.#wrong.set(hash, true, 0);
      return "wrong";
    }
    if (status >= 300) return "open";
    this.#good.set(hash, true, 0);
    this.#wrong.delete(hash);
    return "good";
  }
}
