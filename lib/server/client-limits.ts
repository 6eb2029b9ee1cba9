import { assert } from "../shared/assert.ts";
import { SECOND_MS } from "../shared/durations.ts";
import { BoundedMap } from "./redirect/bounded-map.ts";

/** How often a client may fail: `burst` times at once, and one more every `everyMs` after that. */
export interface LimitRule {
  readonly burst: number;
  readonly everyMs: number;
}

/** Clients that are remembered. Who is forgotten first has failed longest ago, and begins anew with a full burst. */
const CLIENTS_MAX = 10_000;

interface Bucket {
  /** What is left of the burst, never below 0. */
  readonly left: number;
  readonly atMs: number;
}

/**
 * A token bucket for each client, of bounded memory. A client that does nothing wrong has none at all. Instants are
 * those of any clock that does not go back; one that does gives nothing back for that time.
 */
export class ClientLimits {
  readonly #buckets: BoundedMap<Bucket>;
  readonly #rule: LimitRule;

  constructor(rule: LimitRule, clientsMax = CLIENTS_MAX) {
    assert(
      rule.burst >= 1 && rule.everyMs > 0,
      `a limit of ${rule.burst} in ${rule.everyMs} ms lets nobody in`,
    );
    this.#rule = rule;
    this.#buckets = new BoundedMap({ entriesMax: clientsMax, bytesMax: Number.POSITIVE_INFINITY });
  }

  /** Clients that are remembered at this moment. */
  get size(): number {
    return this.#buckets.size;
  }

  /** How long the client has to wait for its next try, in milliseconds; 0: it may try now. */
  waitMs(client: string, nowMs: number): number {
    const left = this.#left(client, nowMs);
    return left >= 1 ? 0 : Math.ceil((1 - left) * this.#rule.everyMs);
  }

  /** Whole tries that the client has left. */
  triesLeft(client: string, nowMs: number): number {
    return Math.floor(this.#left(client, nowMs));
  }

  /** Takes one try away, if there is one. */
  count(client: string, nowMs: number): void {
    const left = Math.max(this.#left(client, nowMs) - 1, 0);
    this.#buckets.set(client, { left, atMs: nowMs }, 0);
  }

  #left(client: string, nowMs: number): number {
    const { burst, everyMs } = this.#rule;
    const bucket = this.#buckets.get(client);
    if (bucket === undefined) return burst;
    const left = bucket.left + Math.max(0, nowMs - bucket.atMs) / everyMs;
    if (left < burst) return left;
    this.#buckets.delete(client);
    return burst;
  }
}

/** Guessing is hopeless against 256 bits, and so is filling the log or the database with guesses. */
export const FAILED_KEYS: LimitRule = { burst: 60, everyMs: SECOND_MS };
/** Sign-ins that have ended: a page asks for one file at a time. Apart from the keys, which have nothing to do with them. */
export const FAILED_SESSIONS: LimitRule = { burst: 60, everyMs: SECOND_MS };
/** A provider whose settings are wrong is answered often enough to be noticed. */
export const REFUSED_WEBHOOKS: LimitRule = { burst: 60, everyMs: SECOND_MS };
/** Addresses with a typing error are rare; a scan of codes is not, and each costs a read of the database. */
export const UNKNOWN_CODES: LimitRule = { burst: 120, everyMs: SECOND_MS / 4 };
/** Each sign-in is two or three requests. A house full of people behind one address still gets in. */
export const SIGN_INS: LimitRule = { burst: 120, everyMs: SECOND_MS / 2 };
/** Monitors ask once in some seconds, the start of the stack ten times a second; each asks the database. */
export const HEALTH_CHECKS: LimitRule = { burst: 120, everyMs: SECOND_MS / 20 };
