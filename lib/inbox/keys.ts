/**
 * The public keys of the tenant, fetched when needed and kept. A key endpoint that is down takes no known key away, and
 * tokens with made-up key ids cannot make this ask it again and again.
 */
import { importJWK, type CryptoKey, type JWK } from "jose";
import { exchange } from "../kinde/http.ts";
import { MINUTE_MS, SECOND_MS } from "../shared/durations.ts";
import { isRecord } from "./event.ts";

/** Keys are fetched at most once in this time, whatever arrives and whatever became of the last fetch. */
export const REFETCH_AFTER_MS = 30 * SECOND_MS;
/** Keys older than this are fetched again behind the answer, so that a key taken out of the set stops working. */
export const STALE_AFTER_MS = 10 * MINUTE_MS;
const FETCH_TIMEOUT_MS = 5 * SECOND_MS;
/** A tenant has two or three. More than this is not a set of keys that anybody meant. */
const KEYS_MAX = 100;
/** RS256 asks for 2,048 bits. */
const MODULUS_BYTES_MIN = 256;

export type KeyLookup =
  | { readonly kind: "found"; readonly key: CryptoKey }
  /** Keys were fetched after the question and this is none of them. */
  | { readonly kind: "unknown" }
  /** The question cannot be answered yet: no refetch is allowed now, or the key endpoint gave none. */
  | { readonly kind: "undecided"; readonly reason: "too_soon" | "unavailable" };

export interface KeySource {
  find(kid: string): Promise<KeyLookup>;
}

export interface KeyOptions {
  readonly jwksUrl: string;
  /** A time that never goes back, in milliseconds. */
  readonly elapsedMs: () => number;
  readonly fetch?: typeof fetch;
}

/** Keys of RS256 signatures from a key set at an address, cached for the life of the process. */
export function cachedKeys(options: KeyOptions): KeySource {
  const fetchFn = options.fetch ?? fetch;
  let known: ReadonlyMap<string, CryptoKey> = new Map();
  let knownSinceMs = Number.NEGATIVE_INFINITY;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<boolean> | null = null;

  const mayAsk = (): boolean => options.elapsedMs() - askedAtMs >= REFETCH_AFTER_MS;

  /** One question at a time; whoever comes meanwhile shares its answer. Whether keys came. Never rejects. */
  const ask = (): Promise<boolean> => {
    askedAtMs = options.elapsedMs();
    asking = fetchKeys(fetchFn, options.jwksUrl).then((keys) => {
      asking = null;
      if (keys === null) return false;
      known = keys;
      knownSinceMs = options.elapsedMs();
      return true;
    });
    return asking;
  };

  return {
    async find(kid) {
      const key = known.get(kid);
      if (key !== undefined) {
        const isStale = options.elapsedMs() - knownSinceMs >= STALE_AFTER_MS;
        // Not waited for: a slow key endpoint must not slow down deliveries whose key is known.
        if (isStale && asking === null && mayAsk()) void ask();
        return { kind: "found", key };
      }
      if (asking === null && !mayAsk()) return { kind: "undecided", reason: "too_soon" };
      const hasCome = await (asking ?? ask());
      if (!hasCome) return { kind: "undecided", reason: "unavailable" };
      const fresh = known.get(kid);
      return fresh === undefined ? { kind: "unknown" } : { kind: "found", key: fresh };
    },
  };
}

/** The usable keys by id; null when the address gave no key set, so that the ones before stay. */
async function fetchKeys(fetchFn: typeof fetch, url: string): Promise<Map<string, CryptoKey> | null> {
  const request = { method: "GET", url: new URL(url), headers: { accept: "application/json" } } as const;
  const outcome = await exchange(fetchFn, request, FETCH_TIMEOUT_MS);
  if (outcome.kind !== "answered" || outcome.status !== 200 || !isRecord(outcome.json)) return null;
  const { keys } = outcome.json;
  if (!Array.isArray(keys) || keys.length > KEYS_MAX) return null;
  const usable = new Map<string, CryptoKey>();
  for (const jwk of keys as unknown[]) {
    const named = isRecord(jwk) ? await importSigningKey(jwk) : null;
    // Of two keys with one id the first counts, as everybody else who reads the set takes it.
    if (named !== null && !usable.has(named.kid)) usable.set(named.kid, named.key);
  }
  return usable;
}

/** Null for a key that is not meant for RS256 signatures: another type, use or algorithm, or too short. */
async function importSigningKey(
  jwk: Readonly<Record<string, unknown>>,
): Promise<{ kid: string; key: CryptoKey } | null> {
  const { kty, use, alg, kid, n, e } = jwk;
  if (kty !== "RSA" || use !== "sig" || (alg !== undefined && alg !== "RS256")) return null;
  if (typeof kid !== "string" || kid === "" || typeof n !== "string" || typeof e !== "string") return null;
  if (Math.floor((n.length * 3) / 4) < MODULUS_BYTES_MIN) return null;
  try {
    // Only the public numbers: whatever else the entry says about itself is not needed.
    const key = await importJWK({ kty, n, e } satisfies JWK, "RS256");
    return key instanceof Uint8Array ? null : { kid, key };
  } catch {
    return null;
  }
}
