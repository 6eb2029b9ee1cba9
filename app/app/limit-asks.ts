import { LIMIT_FRESH_MS } from "../../lib/gate/limit-cache.ts";

/** When a page last asked for the limit of an account to be read, so that several screens of it ask once. */
export class LimitAsks {
  readonly #askedAtMs = new Map<string, number>();

  /** Whether the limit may be asked for now; true at most once while one reading of it would serve. */
  take(accountId: string, nowMs: number): boolean {
    const askedAtMs = this.#askedAtMs.get(accountId);
    if (askedAtMs !== undefined && nowMs - askedAtMs < LIMIT_FRESH_MS) return false;
    this.#askedAtMs.set(accountId, nowMs);
    return true;
  }
}
