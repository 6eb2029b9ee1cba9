import { describe, expect, test } from "vitest";
import {
  pairsThatMove,
  rowsThatTakeBack,
  type EntryRow,
  type NewEntry,
} from "../../lib/ledger/corrections.ts";
import {
  agreementAt,
  FEATURE_CLICKS,
  meterAt,
  meterFinder,
  meterKey,
  type AgreementSpan,
  type Meter,
} from "../../lib/ledger/meter.ts";
import { addToShard, chooseShard, SHARDS, totalOfShards } from "../../lib/ledger/shard.ts";
import { seededRandom } from "../helpers/random-values.ts";

const at = (iso: string): number => Date.parse(iso);
const span = (agreementId: string, fromMs: number, untilMs: number | null = null): AgreementSpan => ({
  agreementId,
  fromMs,
  untilMs,
});

describe("the agreement in force", () => {
  test.each([
    ["before the first", 99, null],
    ["at its first instant", 100, "a"],
    ["just before it ends", 199, "a"],
    ["at the instant that ends it and starts the next", 200, "b"],
    ["in a gap", 300, null],
    ["in one without an end", 5_000, "c"],
  ])("%s", (_name, atMs, expected) => {
    expect(agreementAt([span("c", 400), span("a", 100, 200), span("b", 200, 300)], atMs)).toBe(expected);
  });

  test("of several the one that started last counts, then the greater id, in every order", () => {
    const [old, first, second] = [span("z", 100), span("a", 200), span("b", 200)];
    for (const order of [
      [old, first, second],
      [second, first, old],
      [first, second, old],
    ]) {
      expect(agreementAt(order, 250)).toBe("b");
      expect(agreementAt(order, 150)).toBe("z");
    }
  });
});

describe("the meter of an instant", () => {
  const START_MS = at("2026-10-20T15:29:00Z");
  const GONE_MS = START_MS + 10 * 60_000;
  const agreements = [span("a", START_MS, GONE_MS), span("b", GONE_MS + 90_000)];
  test.each([
    ["more than a minute before the first agreement", START_MS - 60_001, null, "2026-09"],
    ["a minute before it", START_MS - 60_000, "a", "2026-10"],
    ["just before it", START_MS - 1, "a", "2026-10"],
    ["at its end, and more than a minute before the next", GONE_MS, null, "2026-10"],
    ["after its end, and a minute before the next", GONE_MS + 30_000, "b", "2026-10"],
  ])("%s", (_name, atMs, agreementId, cycle) => {
    const account = { accountId: "acc", anchorMs: START_MS, agreements };
    expect(meterAt(account, FEATURE_CLICKS, atMs)).toMatchObject({ agreementId, cycle });
  });

  test("a minute before the next agreement, the one in force counts, and one that never was does not", () => {
    const never = span("z", START_MS + 5_000, START_MS + 5_000);
    const account = { accountId: "acc", anchorMs: START_MS, agreements: [...agreements, never] };
    expect(meterAt(account, FEATURE_CLICKS, GONE_MS - 1).agreementId).toBe("a");
    const early = { ...account, agreements: [never, span("c", START_MS + 6_000)] };
    expect(meterAt(early, FEATURE_CLICKS, START_MS).agreementId).toBe("c");
  });

  test("S9: the boundary instant belongs to the new cycle's meter", () => {
    const account = { accountId: "acc", anchorMs: at("2026-10-20T15:29:00Z"), agreements: [span("a", 0)] };
    const borderMs = at("2026-11-20T15:29:00Z");
    expect(meterAt(account, FEATURE_CLICKS, borderMs - 1)).toEqual({
      accountId: "acc",
      agreementId: "a",
      feature: "clicks",
      cycle: "2026-10",
    });
    expect(meterAt(account, FEATURE_CLICKS, borderMs).cycle).toBe("2026-11");
  });

  test("many instants in any order find the meters that each finds alone, also at borders and in ended agreements", () => {
    const account = {
      accountId: "acc",
      anchorMs: at("2026-01-31T10:00:00Z"),
      agreements: [
        span("a", at("2026-02-01T00:00:00Z"), at("2026-02-28T10:00:00Z")),
        span("b", at("2026-03-05T00:00:00Z")),
      ],
    };
    const borders = ["2026-01-31T10:00:00Z", "2026-02-28T10:00:00Z", "2026-03-31T10:00:00Z"].map(at);
    const random = seededRandom(7);
    const instants = Array.from({ length: 300 }, () => {
      const borderMs = borders[Math.floor(random() * borders.length)]!;
      return borderMs + Math.floor(random() * 5) - 2 + (random() < 0.2 ? 9 * 86_400_000 : 0);
    });
    const find = meterFinder(account, FEATURE_CLICKS);
    expect(instants.map(find)).toEqual(instants.map((atMs) => meterAt(account, FEATURE_CLICKS, atMs)));
    expect(new Set(instants.map((atMs) => find(atMs).cycle)).size).toBe(4);
    expect(() => find(Number.NaN)).toThrow(RangeError);
  });

  test("keys are equal for equal meters only, whatever the ids contain", () => {
    const meter = (accountId: string, agreementId: string | null, feature = "f", cycle = "c"): Meter => ({
      accountId,
      agreementId,
      feature,
      cycle,
    });
    const keys = [
      meter("a", "b"),
      meter("a:b", null),
      meter("a", "b:f"),
      meter("a", null),
      meter("a", "null"),
      meter("a", '","'),
      meter('a","', ""),
    ].map(meterKey);
    expect(new Set(keys).size).toBe(keys.length);
    expect(meterKey({ cycle: "c", feature: "f", agreementId: "b", accountId: "a" })).toBe(
      meterKey(meter("a", "b")),
    );
  });
});

/** A ledger in memory: adds rows once by key, and sums what lies in a meter. */
class Ledger {
  readonly rows: EntryRow[] = [];
  readonly #keys = new Set<string>();

  click(meter: Meter, atMs: number, units = 1): string {
    const id = `e${this.rows.length}`;
    this.rows.push({ id, meter, units, atMs, correctsEntryId: null });
    return id;
  }

  book(entries: readonly NewEntry[]): number {
    const fresh = entries.filter(({ key }) => !this.#keys.has(key));
    for (const { key, ...entry } of fresh) {
      this.#keys.add(key);
      this.rows.push({ id: `e${this.rows.length}`, ...entry });
    }
    return fresh.length;
  }

  family(id: string): EntryRow[] {
    return this.rows.filter((row) => row.id === id || row.correctsEntryId === id);
  }

  units(matches: (meter: Meter) => boolean = () => true): number {
    return this.rows.filter(({ meter }) => matches(meter)).reduce((sum, { units }) => sum + units, 0);
  }
}

const move = (ledger: Ledger, meterOf: (atMs: number) => Meter): number =>
  ledger.book(pairsThatMove(ledger.rows, meterOf).flatMap((pair) => [pair.out, pair.in]));

describe("B44: an upgrade in the middle of a cycle", () => {
  const anchorMs = at("2026-10-01T00:00:00Z");
  const upgradeMs = at("2026-10-15T12:00:00Z");
  const account = (...agreements: AgreementSpan[]) => ({ accountId: "acc", anchorMs, agreements });
  const before = account(span("old", anchorMs));
  const after = account(span("old", anchorMs, upgradeMs), span("new", upgradeMs));
  const unitsOf = (ledger: Ledger, agreementId: string) =>
    ledger.units((meter) => meter.agreementId === agreementId);

  test("known in time, 100 clicks stay on the old meter and 5 go to the new one", () => {
    const ledger = new Ledger();
    for (let i = 0; i < 105; i++) {
      const atMs = i < 100 ? upgradeMs - 100 + i : upgradeMs + i - 100;
      ledger.click(meterAt(after, FEATURE_CLICKS, atMs), atMs);
    }
    expect([unitsOf(ledger, "old"), unitsOf(ledger, "new")]).toEqual([100, 5]);
    expect(move(ledger, (atMs) => meterAt(after, FEATURE_CLICKS, atMs))).toBe(0);
  });

  test("learnt late, the 5 are moved by pairs and no unit is made or lost", () => {
    const ledger = new Ledger();
    for (let i = 0; i < 105; i++) {
      const atMs = i < 100 ? upgradeMs - 100 + i : upgradeMs + i - 100;
      ledger.click(meterAt(before, FEATURE_CLICKS, atMs), atMs);
    }
    expect([unitsOf(ledger, "old"), unitsOf(ledger, "new")]).toEqual([105, 0]);
    const newMeter = (atMs: number) => meterAt(after, FEATURE_CLICKS, atMs);
    const pairs = pairsThatMove(ledger.rows, newMeter);
    expect(pairs[0]).toEqual({
      out: {
        key: "move:e100:1:out",
        meter: { accountId: "acc", agreementId: "old", feature: "clicks", cycle: "2026-10" },
        units: -1,
        atMs: upgradeMs,
        correctsEntryId: "e100",
      },
      in: {
        key: "move:e100:1:in",
        meter: { accountId: "acc", agreementId: "new", feature: "clicks", cycle: "2026-10" },
        units: 1,
        atMs: upgradeMs,
        correctsEntryId: "e100",
      },
    });
    expect(move(ledger, newMeter)).toBe(10);
    expect([unitsOf(ledger, "old"), unitsOf(ledger, "new"), ledger.units()]).toEqual([100, 5, 105]);
    expect(move(ledger, newMeter)).toBe(0);
  });
});

describe("corrections", () => {
  const meter = (agreementId: string): Meter => ({
    accountId: "acc",
    agreementId,
    feature: "clicks",
    cycle: "2026-10",
  });

  test("a move there, back and there again ends there", () => {
    const ledger = new Ledger();
    const id = ledger.click(meter("a"), 1);
    for (const target of ["b", "a", "b"]) expect(move(ledger, () => meter(target))).toBe(2);
    expect(ledger.family(id)).toHaveLength(7);
    expect([ledger.units((m) => m.agreementId === "b"), ledger.units()]).toEqual([1, 1]);
  });

  test("a move decided twice is booked once", () => {
    const ledger = new Ledger();
    ledger.click(meter("a"), 1, 40);
    const pairs = pairsThatMove(ledger.rows, () => meter("b")).flatMap((pair) => [pair.out, pair.in]);
    expect([ledger.book(pairs), ledger.book(pairs)]).toEqual([2, 0]);
    expect(ledger.units((m) => m.agreementId === "b")).toBe(40);
  });

  test("an entry is taken back in the meter it lies in by now, and once", () => {
    const ledger = new Ledger();
    const id = ledger.click(meter("a"), 1);
    move(ledger, () => meter("b"));
    const rows = rowsThatTakeBack(ledger.family(id));
    expect(rows).toMatchObject([{ units: -1, meter: meter("b"), correctsEntryId: id }]);
    ledger.book(rows);
    expect(rowsThatTakeBack(ledger.family(id))).toEqual([]);
    expect(move(ledger, () => meter("c"))).toBe(0);
  });

  test("clicks that counted nothing have nothing to move", () => {
    const ledger = new Ledger();
    ledger.click(meter("a"), 1, 0);
    expect(move(ledger, () => meter("b"))).toBe(0);
  });

  test("a correction without its entry is a fault", () => {
    const orphan = { id: "e1", meter: meter("a"), units: -1, atMs: 1, correctsEntryId: "e0" };
    expect(() => pairsThatMove([orphan], () => meter("b"))).toThrow("the corrections of e0 came without it");
  });

  test("any history of agreements, learnt in any order, ends with each entry in its meter and all units kept", () => {
    const random = seededRandom(44);
    const below = (limit: number) => Math.floor(random() * limit);
    for (let round = 0; round < 60; round++) {
      const ledger = new Ledger();
      let account = { accountId: "acc", anchorMs: 0, agreements: [] as AgreementSpan[] };
      let booked = 0;
      const meterOf = (atMs: number) => meterAt(account, FEATURE_CLICKS, atMs);
      const ids: string[] = [];
      for (let step = 0; step < 30; step++) {
        const atMs = below(5_000_000_000);
        if (random() < 0.7) {
          const units = below(4);
          ids.push(ledger.click(meterOf(atMs), atMs, units));
          booked += units;
        } else if (random() < 0.5) {
          account = {
            ...account,
            agreements: [...account.agreements, span(`a${step}`, atMs, atMs + below(3e9))],
          };
          move(ledger, meterOf);
        } else if (ids.length > 0) {
          const rows = rowsThatTakeBack(ledger.family(ids[below(ids.length)]!));
          booked += rows.reduce((sum, { units }) => sum + units, 0);
          ledger.book(rows);
        }
      }
      move(ledger, meterOf);
      expect(ledger.units()).toBe(booked);
      for (const id of ids) {
        const family = ledger.family(id);
        const right = meterKey(meterOf(family[0]!.atMs));
        const elsewhere = new Map<string, number>();
        for (const row of family) {
          const key = meterKey(row.meter);
          if (key !== right) elsewhere.set(key, (elsewhere.get(key) ?? 0) + row.units);
        }
        expect([...elsewhere.values()].every((units) => units === 0)).toBe(true);
      }
    }
  });
});

describe("shards", () => {
  test("every draw takes one of 64, each as often as the others", () => {
    const draws = Array.from({ length: SHARDS * 10 }, (_, i) => chooseShard(i / (SHARDS * 10)));
    for (let shard = 0; shard < SHARDS; shard++)
      expect(draws.filter((one) => one === shard)).toHaveLength(10);
    expect(chooseShard(1 - Number.EPSILON)).toBe(SHARDS - 1);
    for (const draw of [1, -0.1, Number.NaN])
      expect(() => chooseShard(draw)).toThrow("no draw from 0 up to 1");
  });

  test("the total is the plain sum, shards below zero included", () => {
    const random = seededRandom(64);
    const counters = Array.from({ length: SHARDS }, () => 0);
    let plain = 0;
    for (let i = 0; i < 5_000; i++) {
      const units = random() < 0.2 && plain > 0 ? -1 : 1;
      plain += units;
      const shard = chooseShard(random());
      counters[shard] = addToShard(counters[shard]!, units);
    }
    expect(totalOfShards(counters)).toBe(plain);
    expect(totalOfShards([])).toBe(0);
    expect(totalOfShards([3, -4])).toBe(-1);
    expect(totalOfShards([Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER])).toBe(
      Number.MAX_SAFE_INTEGER,
    );
  });

  test("amounts that doubles cannot count are faults", () => {
    expect(() => addToShard(Number.MAX_SAFE_INTEGER, 1)).toThrow("cannot take 1");
    expect(() => addToShard(0, 0.5)).toThrow("cannot take 0.5");
    expect(() => totalOfShards([Number.MAX_SAFE_INTEGER, 1])).toThrow("add up to 9007199254740992");
    expect(() => totalOfShards([-Number.MAX_SAFE_INTEGER, -1])).toThrow("add up to -9007199254740992");
    expect(() => totalOfShards(Array.from({ length: 65 }, () => 0))).toThrow("65 counters");
  });
});
