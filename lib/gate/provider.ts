/** The answer of a provider. Null means unlimited. */
export type LimitRead =
  | {
      readonly kind: "read";
      readonly limitUnits: number | null;
      /** The plan in force; null when the provider knows none. */
      readonly planKey: string | null;
      /** Since when the account has had a plan without a break, which is where its cycles start; null when not known. */
      readonly subscribedAtMs: number | null;
    }
  | { readonly kind: "failed"; readonly reason: string };

/** The meter of an account's feature in one cycle. */
export interface MeterRef {
  readonly accountId: string;
  readonly feature: string;
  /** Kinde counts per agreement; null when the account has none. */
  readonly agreementId: string | null;
  /** The name of the cycle, for a provider that keeps cycles apart by it, and its first instant. */
  readonly cycle: string;
  readonly cycleStartMs: number;
}

/** There is nothing to send to or to compare with. Not a failure: it stays so until the account changes. */
export interface NoMeter {
  readonly kind: "no_meter";
  readonly reason: string;
}

export interface MeterFailure {
  readonly kind: "failed";
  readonly reason: string;
  /** How long the provider asked to be left alone; null when it did not say. */
  readonly retryAfterMs: number | null;
  /** Could the write have been applied all the same? Always "no" for a read. */
  readonly committed: "no" | "unknown";
  /** The provider understood the request and will not have it: what it is about has changed, or is wrong. */
  readonly isRefused: boolean;
}

/** `set` is the provider's confirmation, or its word that it has this write already. */
export type TotalWrite = { readonly kind: "set" } | NoMeter | MeterFailure;
export type TotalRead =
  | { readonly kind: "read"; readonly totalUnits: number }
  /** The provider answered, and what it answered does not tell the total. Asking again would not help. */
  | { readonly kind: "untold"; readonly reason: string }
  | NoMeter
  | MeterFailure;

/** Where limits come from and where totals go. A provider that cannot be reached answers `failed`, and throws nothing. */
export interface LimitProvider {
  /** Reads the limit that is in force now. */
  readLimit(accountId: string, feature: string): Promise<LimitRead>;
  /**
   * Sets the total of the meter, once: whether and when to try again is for the caller, who knows newer totals. A
   * write that could not start before `startBeforeMs` is not made, and fails with `committed: "no"`.
   */
  setTotal(meter: MeterRef, totalUnits: number, startBeforeMs: number): Promise<TotalWrite>;
  /** Reads the total of a meter whose cycle is under way. */
  readTotal(meter: MeterRef): Promise<TotalRead>;
  /** Reads the total with which a meter has closed. */
  readClosedTotal(meter: MeterRef): Promise<TotalRead>;
}

/** The meters of the fixed provider: rows of our own, kept apart from the ledger so that the two can be compared. */
export interface FixedTotals {
  read(meter: MeterRef): Promise<number | null>;
  write(meter: MeterRef, totalUnits: number): Promise<void>;
}

const NO_FIXED_METER: NoMeter = { kind: "no_meter", reason: "the fixed provider keeps no meters here" };

/**
 * The built-in stand-in for a billing provider: the limit is what an operator set. An account for which none is set
 * cannot be read, which is also how an outage of this provider is made. With `totals` it has meters, and one that
 * was never written reads 0; without them it says that there are none, so that nothing counts as reported.
 */
export function fixedProvider(
  lookUp: (accountId: string, feature: string) => Promise<{ readonly limitUnits: number | null } | null>,
  totals?: FixedTotals,
): LimitProvider {
  const readTotal = async (meter: MeterRef): Promise<TotalRead> => {
    if (totals === undefined) return NO_FIXED_METER;
    return { kind: "read", totalUnits: (await totals.read(meter)) ?? 0 };
  };
  return {
    async readLimit(accountId, feature) {
      const row = await lookUp(accountId, feature);
      if (row === null) return { kind: "failed", reason: "no fixed limit is set for this account" };
      return { kind: "read", limitUnits: row.limitUnits, planKey: null, subscribedAtMs: null };
    },
    async setTotal(meter, totalUnits) {
      if (totals === undefined) return NO_FIXED_METER;
      await totals.write(meter, totalUnits);
      return { kind: "set" };
    },
    readTotal,
    readClosedTotal: readTotal,
  };
}
