import { DAY_MS, MINUTE_MS } from "../shared/durations.ts";
import { checkUnits } from "../shared/units.ts";
import type { MeterRecord } from "./meters.ts";

const SHORTEST_CYCLE_MS = 28 * DAY_MS;
/**
 * A cycle of the provider that starts no further from ours is ours. Where `subscribed_on` could not be read before the
 * first usage, ours start with an event of the same moment; that tells it to another precision, or a moment later. What
 * was used between the two starts may be counted in one cycle here and in the other one there.
 */
export const CYCLE_START_TOLERANCE_MS = MINUTE_MS;

export type CycleTotal =
  | { readonly kind: "total"; readonly totalUnits: number }
  | { readonly kind: "unknown"; readonly reason: string };

/**
 * The total of a closed cycle, which Kinde does not tell: added up from its records, absolute ones setting it and
 * deltas adding. What was dated back into the cycle after its end moved no total, so it does not count here either.
 * Unknown where a record cannot be read, and where the provider's cycles start at other instants than ours. A meter that
 * is written to every minute has more records than are read in a day and a half. What is missing then are the oldest, as
 * long as the list is newest first: that does no harm where an absolute record after them has set the total.
 */
export function totalOfCycle(
  read: { readonly records: readonly MeterRecord[]; readonly truncated: boolean },
  cycleStartMs: number,
): CycleTotal {
  if (read.records.some((record) => record.cycleStartMs === null)) {
    return unknown("the provider does not say to which cycles its records belong");
  }
  const listed = read.records.map((record) =>
    isSameCycle(record.cycleStartMs!, cycleStartMs) ? { ...record, cycleStartMs } : record,
  );
  const starts = [...new Set(listed.map((record) => record.cycleStartMs!))].toSorted((a, b) => a - b);
  const records = listed.filter((record) => record.cycleStartMs === cycleStartMs);
  const endMs = starts.find((startMs) => startMs > cycleStartMs) ?? Number.POSITIVE_INFINITY;
  const misfits = starts.some((startMs) => Math.abs(startMs - cycleStartMs) < SHORTEST_CYCLE_MS);
  if (records.length === 0 && misfits) return unknown("the provider's cycles start at other instants");
  const oldestFirst = inOrder(listed, cycleStartMs);
  if (oldestFirst === null) return unknown("the provider does not say in what order its records were made");
  const counted = oldestFirst.filter(({ createdAtMs }) => createdAtMs === null || createdAtMs < endMs);
  const isSet = counted.some(({ type }) => type === "absolute") && isNewestFirst(listed);
  if (read.truncated && !isSet) return unknown("the meter has more records than could be read");
  let total = 0n;
  for (const record of counted) {
    if (!/^-?\d{1,16}$/.test(record.value)) return unknown("a record of the meter is no whole number");
    if (record.type === "absolute") total = BigInt(record.value);
    else if (record.type === "delta") total += BigInt(record.value);
    else return unknown("a record of the meter does not say what it does");
  }
  const totalUnits = Number(total);
  if (checkUnits("total", totalUnits) !== null) return unknown(`the records add up to ${total}`);
  return { kind: "total", totalUnits };
}

function isSameCycle(startMs: number, ourStartMs: number): boolean {
  return Math.abs(startMs - ourStartMs) <= CYCLE_START_TOLERANCE_MS;
}

/** Told by the times alone: of records of one instant they tell nothing. */
function isNewestFirst(listed: readonly MeterRecord[]): boolean {
  const times = listed.flatMap(({ createdAtMs }) => (createdAtMs === null ? [] : [createdAtMs]));
  const isOrdered = times.every((ms, index) => index === 0 || times[index - 1]! >= ms);
  return isOrdered && times.length > 0 && times[0]! > times.at(-1)!;
}

/**
 * The records of a cycle, oldest first. The provider lists the newest first, and a list whose times agree with that also
 * places what has no time or an equal one. Else the times alone have to tell: null where they do not, because an absolute
 * record taken in the wrong place makes another total.
 */
function inOrder(listed: readonly MeterRecord[], cycleStartMs: number): MeterRecord[] | null {
  const all = listed.toReversed();
  const times = all.flatMap(({ createdAtMs }) => (createdAtMs === null ? [] : [createdAtMs]));
  const isListed = times.every((ms, index) => index === 0 || times[index - 1]! <= ms);
  const isMine = (record: MeterRecord): boolean => record.cycleStartMs === cycleStartMs;
  const records = all.filter(isMine);
  if (isListed) {
    const firstLater = all.findIndex((record) => record.cycleStartMs! > cycleStartMs);
    // It may have been dated back after the end, and then it moved no total.
    const isDoubtful = all.some(
      (record, at) => isMine(record) && record.createdAtMs === null && firstLater !== -1 && at > firstLater,
    );
    return isDoubtful ? null : records;
  }
  if (records.some(({ createdAtMs }) => createdAtMs === null)) return null;
  const sorted = records.toSorted((one, other) => one.createdAtMs! - other.createdAtMs!);
  const isTold = sorted.every((record, index) => {
    const before = sorted[index - 1];
    if (before === undefined || before.createdAtMs !== record.createdAtMs) return true;
    return before.type === "delta" && record.type === "delta";
  });
  return isTold ? sorted : null;
}

function unknown(reason: string): CycleTotal {
  return { kind: "unknown", reason };
}
