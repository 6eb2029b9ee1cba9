import { MINUTE_MS, SECOND_MS } from "../shared/durations.ts";
import { retried, type Budget, type RetryPorts } from "./back-off.ts";
import { failure, type Failure } from "./failure.ts";

/** A token stops being used this long before Kinde ends it, so that none expires on its way. */
const MARGIN_MS = MINUTE_MS;

export interface StoredToken {
  readonly accessToken: string;
  /** From this instant on the token is not used any more. The margin before Kinde's own end is taken off already. */
  readonly expiresAtMs: number;
}

/** Where the token outlives a client. Convex keeps it in a table, because its modules keep no state. */
export interface TokenStore {
  read(): Promise<StoredToken | null>;
  write(token: StoredToken): Promise<void>;
}

/**
 * The token store failed, which is a fault on our side and none of Kinde's. It has no `cause`: the error of a
 * refused write may quote the token.
 */
export class TokenStoreError extends Error {
  readonly code = "token_store_failed";
  override readonly name = "TokenStoreError";
}

export type TokenOutcome = { readonly kind: "token"; readonly accessToken: string } | Failure;

/** One request for a token. `lifeSeconds` is what Kinde said. */
export type FetchToken = (
  budget: Budget,
) => Promise<
  { readonly kind: "fetched"; readonly accessToken: string; readonly lifeSeconds: number } | Failure
>;

export interface TokenSource {
  /**
   * A token that is still good: this client's, else the stored one, else a new one. `rejected` is a token that the
   * API answered 401 to; it is not handed out again. Throws `TokenStoreError`.
   */
  get(rejected: string | null, budget: Budget): Promise<TokenOutcome>;
}

export interface TokenPorts extends RetryPorts {
  readonly store: TokenStore;
  readonly nowMs: () => number;
  readonly fetchToken: FetchToken;
}

/** Calls that need a token at the same time share one read of the store and one request. */
export function createTokenSource(ports: TokenPorts): TokenSource {
  let current: StoredToken | null = null;
  let lastRejected: string | null = null;
  let underWay: Promise<TokenOutcome> | null = null;

  const isGood = (token: StoredToken | null): token is StoredToken =>
    token !== null && token.accessToken !== lastRejected && ports.nowMs() < token.expiresAtMs;

  async function load(budget: Budget): Promise<TokenOutcome> {
    const stored = await readStore(ports.store);
    if (isGood(stored)) {
      current = stored;
      return { kind: "token", accessToken: stored.accessToken };
    }
    // The life counts from the sending: Kinde's own count cannot have started earlier.
    let sentAtMs = 0;
    const fetched = await retried(ports, budget, () => {
      sentAtMs = ports.nowMs();
      return ports.fetchToken(budget);
    });
    if (fetched.kind === "failed") return fetched;
    if (fetched.accessToken === lastRejected) {
      return failure({
        code: "unauthorized",
        status: 401,
        message: "POST /oauth2/token: the same token again after the API refused it",
      });
    }
    const lifeMs = fetched.lifeSeconds * SECOND_MS;
    current = {
      accessToken: fetched.accessToken,
      expiresAtMs: sentAtMs + lifeMs - Math.min(MARGIN_MS, lifeMs / 2),
    };
    await writeStore(ports.store, current);
    return { kind: "token", accessToken: fetched.accessToken };
  }

  async function get(rejected: string | null, budget: Budget): Promise<TokenOutcome> {
    if (rejected !== null) lastRejected = rejected;
    if (underWay !== null) {
      const outcome = await underWay;
      // What was under way may have begun before this rejection and bring the rejected token.
      return outcome.kind === "token" && outcome.accessToken === rejected ? get(rejected, budget) : outcome;
    }
    if (isGood(current)) return { kind: "token", accessToken: current.accessToken };
    underWay = load(budget).finally(() => {
      underWay = null;
    });
    return underWay;
  }

  return { get };
}

async function readStore(store: TokenStore): Promise<StoredToken | null> {
  try {
    return await store.read();
  } catch {
    throw new TokenStoreError("the stored Kinde token cannot be read");
  }
}

async function writeStore(store: TokenStore, token: StoredToken): Promise<void> {
  try {
    await store.write(token);
  } catch {
    throw new TokenStoreError("the Kinde token cannot be stored");
  }
}
