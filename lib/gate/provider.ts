/** The answer of a provider. Null means unlimited. */
export type LimitRead =
  | { readonly kind: "read"; readonly limitUnits: number | null }
  | { readonly kind: "failed"; readonly reason: string };

/** Where limits come from. Meters join this interface together with the ledger. */
export interface LimitProvider {
  /** Reads the limit that is in force now. An unreachable provider is a `failed` answer, not an exception. */
  readLimit(accountId: string, feature: string): Promise<LimitRead>;
}

/**
 * The built-in stand-in for a billing provider: the limit is what an operator set. An account for which none is set
 * cannot be read, which is also how an outage of this provider is made.
 */
export function fixedProvider(
  lookUp: (accountId: string, feature: string) => Promise<{ readonly limitUnits: number | null } | null>,
): LimitProvider {
  return {
    async readLimit(accountId, feature) {
      const row = await lookUp(accountId, feature);
      if (row === null) return { kind: "failed", reason: "no fixed limit is set for this account" };
      return { kind: "read", limitUnits: row.limitUnits };
    },
  };
}
