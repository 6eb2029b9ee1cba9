import { assertUnits } from "../shared/units.ts";
import type { ManagementApi } from "./api.ts";
import type { Failure } from "./failure.ts";
import { readPages } from "./paging.ts";
import { meterAnswer } from "./schemas.ts";

/** Written as documented. Reading it is in no public specification: see `readMeter`. */
const PATH = "/api/v1/billing/meter_usage";

export interface MeterAddress {
  readonly agreementId: string;
  readonly featureKey: string;
}

export interface MeterWrite extends MeterAddress {
  readonly totalUnits: number;
  /** When the usage was; Kinde's now when left out. */
  readonly atMs?: number;
  /** The write is not made when it cannot start before this instant, however long the token took. */
  readonly startBeforeMs?: number;
}

/** One write as the provider keeps it. `value` is its text: a delta may be negative, a foreign one anything. */
export interface MeterRecord {
  readonly id: string;
  readonly value: string;
  /** "absolute" or "delta"; null when the provider does not say. */
  readonly type: string | null;
  readonly usedAtMs: number;
  readonly createdAtMs: number | null;
  readonly cycleStartMs: number | null;
}

export interface MeterRead {
  readonly kind: "read";
  readonly sentAtMs: number;
  /** The total of the cycle that the provider is in, a whole number from 0 to 2^53 - 1. */
  readonly totalUnits: number;
  readonly records: readonly MeterRecord[];
  /** There are more records than were read. The total does not depend on them. */
  readonly truncated: boolean;
}

/**
 * Sets the total of a meter, as an absolute value, which is safe to send again; a delta would count twice when the
 * first answer was lost. It is sent once all the same: after `committed: "unknown"` an older total of ours may still
 * land after a newer one, so the caller decides when to send again and reads back. Throws `AssertionError` when the total is no amount of units.
 */
export function writeMeter(
  api: ManagementApi,
  write: MeterWrite,
): Promise<{ readonly kind: "written" | "already_there" } | Failure> {
  const body = {
    customer_agreement_id: write.agreementId,
    billing_feature_code: write.featureKey,
    // The specification wants a string, and strict servers refuse a number.
    meter_value: String(assertUnits("totalUnits", write.totalUnits)),
    meter_type_code: "absolute",
    ...(write.atMs === undefined ? {} : { meter_usage_timestamp: new Date(write.atMs).toISOString() }),
  };
  return api.write(PATH, body, write.startBeforeMs ?? null);
}

/**
 * The one adapter for the read that Kinde's public specification lacks (facts §0.1): a GET beside the write, as it
 * was measured by others. If a tenant answers elsewhere or in another shape, this function and its schema change and
 * nothing else. `allCycles` asks for the records of closed cycles too, page after page; without it the first page is
 * enough, because the total comes with it.
 */
export async function readMeter(
  api: ManagementApi,
  read: MeterAddress & { readonly allCycles?: boolean },
): Promise<MeterRead | Failure> {
  const allCycles = read.allCycles === true;
  const answer = await readPages(api, api.startBudget(), {
    path: PATH,
    query: {
      customer_agreement_id: read.agreementId,
      billing_feature_code: read.featureKey,
      ...(allCycles ? { all_cycles: "true" } : {}),
    },
    schema: meterAnswer,
    split: ({ usage }) => ({
      ids: usage.records.map(({ id }) => id),
      hasMore: usage.has_more === true,
      page: usage,
    }),
    pagesMax: allCycles ? undefined : 1,
  });
  if (answer.kind === "failed") return answer;
  const { pages, truncated } = answer.value;
  const records = new Map(pages.flatMap((page) => page.records).map((row) => [row.id, row]));
  return {
    kind: "read",
    sentAtMs: answer.sentAtMs,
    totalUnits: pages[0]!.current_total,
    records: [...records.values()],
    truncated,
  };
}
