import { assert, must } from "../shared/assert.ts";
import { meterKey, type Meter } from "./meter.ts";

/*
 * No entry is ever changed. What was booked wrongly is put right by new entries that name the one they correct. An
 * entry and its corrections are a family; the units of a family in a meter are the sum over its rows there.
 */

/** A stored row of the ledger, as far as corrections look at it. */
export interface EntryRow {
  readonly id: string;
  readonly meter: Meter;
  readonly units: number;
  /** When what it counts happened. A correction carries the instant of the entry it corrects. */
  readonly atMs: number;
  /** The entry that this row corrects; null for an entry of its own. */
  readonly correctsEntryId: string | null;
}

/** A row to be added. The same key is added once, so a retry of the same decision adds nothing. */
export interface NewEntry {
  readonly key: string;
  readonly meter: Meter;
  readonly units: number;
  readonly atMs: number;
  readonly correctsEntryId: string;
}

/** Moves units between meters without making or losing any: `out.units` is `-in.units`. */
export interface CorrectionPair {
  readonly out: NewEntry;
  readonly in: NewEntry;
}

/**
 * What a change of agreements that was learnt late moves: for every family whose units lie in another meter than
 * `meterOf` says now, -n there and +n here. Whole families are given, in any order: each entry together with all of
 * its corrections. Once the pairs are booked the same question is answered with none. Throws `AssertionError` for a
 * correction without its entry and for sums past 2^53 - 1.
 */
export function pairsThatMove(
  rows: readonly EntryRow[],
  meterOf: (atMs: number) => Meter,
): readonly CorrectionPair[] {
  return familiesOf(rows).flatMap((family) => {
    const { entry } = family;
    const right = meterOf(entry.atMs);
    const wrong = family.unitsByMeter.filter(({ meter }) => meterKey(meter) !== meterKey(right));
    return wrong.map(({ meter, units }, index) => {
      // The number of rows so far tells a move there from a later one back and there again.
      const keyOf = (side: string): string => `move:${entry.id}:${family.rows + index}:${side}`;
      const common = { atMs: entry.atMs, correctsEntryId: entry.id };
      return {
        out: { key: keyOf("out"), meter, units: -units, ...common },
        in: { key: keyOf("in"), meter: right, units, ...common },
      };
    });
  });
}

/**
 * Takes an entry back: for each meter in which its family has units, as many with the other sign. Nothing is left to
 * take back the second time. Takes one whole family.
 */
export function rowsThatTakeBack(family: readonly EntryRow[]): readonly NewEntry[] {
  const [only, ...others] = familiesOf(family);
  assert(only !== undefined && others.length === 0, `expected one entry with its corrections`);
  return only.unitsByMeter.map(({ meter, units }, index) => ({
    key: `take_back:${only.entry.id}:${only.rows + index}`,
    meter,
    units: -units,
    atMs: only.entry.atMs,
    correctsEntryId: only.entry.id,
  }));
}

interface Family {
  readonly entry: EntryRow;
  readonly rows: number;
  /** Only meters in which units are left. */
  readonly unitsByMeter: readonly { readonly meter: Meter; readonly units: number }[];
}

/** In the order of their first rows. */
function familiesOf(rows: readonly EntryRow[]): Family[] {
  const byEntry = new Map<string, EntryRow[]>();
  for (const row of rows) {
    const entryId = row.correctsEntryId ?? row.id;
    const group = byEntry.get(entryId);
    if (group === undefined) byEntry.set(entryId, [row]);
    else group.push(row);
  }
  return [...byEntry].map(([entryId, group]) => {
    const entry = must(
      group.find(({ id }) => id === entryId),
      `the corrections of ${entryId} came without it`,
    );
    assert(entry.correctsEntryId === null, `${entryId} is a correction and has corrections of its own`);
    const sums = new Map<string, { meter: Meter; units: number }>();
    for (const { meter, units } of group) {
      const sum = (sums.get(meterKey(meter))?.units ?? 0) + units;
      assert(Number.isSafeInteger(sum), `${entryId} has ${sum} units in one meter`);
      sums.set(meterKey(meter), { meter, units: sum });
    }
    return {
      entry,
      rows: group.length,
      unitsByMeter: [...sums.values()].filter(({ units }) => units !== 0),
    };
  });
}
