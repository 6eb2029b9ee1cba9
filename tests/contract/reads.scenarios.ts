import { expect } from "vitest";

import type { ContractEngine } from "./engines.ts";
import type { Scenario } from "./scenario.ts";

/** One value of every type, in Convex's order; `b` names it. */
const ORDERED: [string, unknown][] = [
  ["null", null],
  ["int -5", -5n],
  ["int 7", 7n],
  ["-inf", Number.NEGATIVE_INFINITY],
  ["-1.5", -1.5],
  ["-0", -0],
  ["0", 0],
  ["3", 3],
  ["inf", Number.POSITIVE_INFINITY],
  ["nan", Number.NaN],
  ["false", false],
  ["true", true],
  ["empty text", ""],
  ["a", "a"],
  ["a0", "a\0"],
  ["b", "b"],
  ["bmp", "\uffff"],
  ["astral", "😀"],
  ["bytes", new Uint8Array([0, 255]).buffer],
  ["array", [1]],
  ["array 2", [1, null]],
  ["object", { k: 1 }],
];

async function fill(engine: ContractEngine, rows: object[]): Promise<void> {
  await engine.mutation("reads:fill", { rows });
}

async function fillOrdered(engine: ContractEngine): Promise<string[]> {
  const rows = ORDERED.map(([b, a]) => ({ a, b }));
  await fill(engine, [...rows.toReversed(), { b: "missing" }]);
  return ["missing", ...ORDERED.map(([b]) => b)];
}

const fillNumbers = (engine: ContractEngine, count: number) =>
  fill(
    engine,
    Array.from({ length: count }, (_, a) => ({ a, b: `n${a}` })),
  );

const range = (
  engine: ContractEngine,
  bounds: object[],
  { index = "by_a", order = "asc", take }: { index?: string; order?: string; take?: number } = {},
): Promise<string[]> =>
  engine.query("reads:range", { index, bounds, order, ...(take === undefined ? {} : { take }) });

/** Reads pages to the end; returns their rows. */
async function pages(engine: ContractEngine, args: object): Promise<{ rows: string[]; pages: number }> {
  const rows: string[] = [];
  let cursor: string | null = null;
  for (let count = 1; count < 50; count++) {
    const page: any = await engine.query("reads:page", { ...args, cursor });
    rows.push(...page.page);
    if (page.isDone) return { rows, pages: count };
    cursor = page.continueCursor;
  }
  throw new Error("the pages do not end");
}

export const reads: Scenario[] = [
  {
    name: "an index orders all types, a missing field first",
    async run(engine) {
      const order = await fillOrdered(engine);
      expect(await range(engine, [])).toEqual(order);
      expect(await range(engine, [], { order: "desc" })).toEqual(order.toReversed());
    },
  },
  {
    name: "gt, gte, lt and lte cut between any two values, in both orders",
    async run(engine) {
      const order = await fillOrdered(engine);
      for (const [b, value] of ORDERED) {
        const at = order.indexOf(b);
        for (const [op, expected] of [
          ["gt", order.slice(at + 1)],
          ["gte", order.slice(at)],
          ["lt", order.slice(0, at)],
          ["lte", order.slice(0, at + 1)],
          ["eq", [b]],
        ] as const) {
          const bounds = [{ op, field: "a", value }];
          expect(await range(engine, bounds), `${op} ${b}`).toEqual(expected);
          expect(await range(engine, bounds, { order: "desc" }), `${op} ${b} desc`).toEqual(
            expected.toReversed(),
          );
        }
      }
    },
  },
  {
    name: "a lower and an upper bound enclose a range",
    async run(engine) {
      await fillNumbers(engine, 10);
      const bounds = [
        { op: "gt", field: "a", value: 2 },
        { op: "lte", field: "a", value: 5 },
      ];
      expect(await range(engine, bounds)).toEqual(["n3", "n4", "n5"]);
      expect(await range(engine, bounds, { order: "desc", take: 2 })).toEqual(["n5", "n4"]);
      const empty = [
        { op: "gt", field: "a", value: 5 },
        { op: "lt", field: "a", value: 2 },
      ];
      expect(await range(engine, empty)).toEqual([]);
    },
  },
  {
    name: "eq undefined finds only documents without the field, gt undefined all others",
    async run(engine) {
      const order = await fillOrdered(engine);
      expect(await range(engine, [{ op: "eq", field: "a" }])).toEqual(["missing"]);
      expect(await range(engine, [{ op: "gt", field: "a" }])).toEqual(order.slice(1));
    },
  },
  {
    name: "equality on the first field and bounds on the second, with ties in creation order",
    async run(engine) {
      await fill(engine, [
        { a: 1, b: "y" },
        { a: 1, b: "x" },
        { a: 2, b: "x" },
        { a: 1, b: "z" },
        { a: 1, b: "x", second: true },
      ]);
      const eq = { op: "eq", field: "a", value: 1 };
      expect(await range(engine, [eq], { index: "by_a_b" })).toEqual(["x", "x", "y", "z"]);
      expect(await range(engine, [eq, { op: "gt", field: "b", value: "x" }], { index: "by_a_b" })).toEqual([
        "y",
        "z",
      ]);
      expect(
        await range(engine, [eq, { op: "lte", field: "b", value: "y" }], { index: "by_a_b", order: "desc" }),
      ).toEqual(["y", "x", "x"]);
    },
  },
  {
    name: "rows with equal keys come in creation order, and backwards when descending",
    async run(engine) {
      await fill(
        engine,
        ["p", "q", "r"].map((b) => ({ a: 1, b })),
      );
      expect(await range(engine, [])).toEqual(["p", "q", "r"]);
      expect(await range(engine, [], { order: "desc" })).toEqual(["r", "q", "p"]);
      expect(await range(engine, [], { index: "by_creation_time", order: "desc", take: 1 })).toEqual(["r"]);
    },
  },
  {
    name: "a nested field path indexes like a field",
    async run(engine) {
      await fill(engine, [
        { b: "two", n: { x: 2 } },
        { b: "none", n: 5 },
        { b: "one", n: { x: 1 } },
      ]);
      expect(await range(engine, [], { index: "by_nested" })).toEqual(["none", "one", "two"]);
      expect(await range(engine, [{ op: "gte", field: "n.x", value: 2 }], { index: "by_nested" })).toEqual([
        "two",
      ]);
    },
  },
  {
    name: "the creation time can bound a range, alone and after an index's fields",
    async run(engine) {
      await fill(
        engine,
        ["p", "q", "r"].map((b) => ({ a: 1, b })),
      );
      expect(await engine.query("reads:createdAround", { b: "q" })).toEqual({
        upTo: ["p", "q"],
        after: ["r"],
        sameA: ["p"],
        exact: ["q"],
      });
    },
  },
  {
    name: "an unknown index and fields out of order are refused",
    async run(engine) {
      await expect(engine.query("reads:unknownIndex")).rejects.toThrow(/index/i);
      await expect(engine.query("reads:outOfOrder")).rejects.toThrow(/order|index/i);
    },
  },
  ...filterScenarios(),
  {
    name: "first, unique, take, collect and an early break",
    async run(engine) {
      await fill(engine, [
        { a: 1, b: "one" },
        { a: 2, b: "two" },
        { a: 3, b: "three" },
        { a: 4, b: "four" },
      ]);
      expect(await engine.query("reads:endings")).toEqual({
        first: "one",
        none: null,
        one: "two",
        noUnique: null,
        taken: ["one", "two", "three"],
        takenNone: [],
        filteredTake: ["two", "three"],
        broken: ["one", "two"],
      });
      await expect(engine.query("reads:uniqueOfMany")).rejects.toThrow(/unique/);
    },
  },
  {
    name: "pages to the end hold every row once, in both orders",
    async run(engine) {
      await fillNumbers(engine, 11);
      const all = Array.from({ length: 11 }, (_, a) => `n${a}`);
      expect(await pages(engine, { numItems: 4 })).toEqual({ rows: all, pages: 3 });
      expect(await pages(engine, { numItems: 4, order: "desc" })).toEqual({
        rows: all.toReversed(),
        pages: 3,
      });
      expect(await pages(engine, { numItems: 50 })).toEqual({ rows: all, pages: 1 });
    },
  },
  {
    name: "a filter thins the pages and loses nothing",
    async run(engine) {
      await fillNumbers(engine, 11);
      const { rows } = await pages(engine, { numItems: 2, even: true });
      expect(rows).toEqual(["n0", "n2", "n4", "n6", "n8", "n10"]);
    },
  },
  {
    name: "an exactly full last page is not known to be the last",
    async run(engine) {
      await fillNumbers(engine, 4);
      expect(await pages(engine, { numItems: 2 })).toEqual({ rows: ["n0", "n1", "n2", "n3"], pages: 3 });
    },
  },
  {
    name: "an end cursor fixes the page, whatever its size",
    async run(engine) {
      await fillNumbers(engine, 9);
      const first = await engine.query("reads:page", { numItems: 3, cursor: null });
      const second = await engine.query("reads:page", { numItems: 3, cursor: first.continueCursor });
      const fixed = await engine.query("reads:page", {
        numItems: 1,
        cursor: null,
        endCursor: second.continueCursor,
      });
      expect(fixed.page).toEqual(["n0", "n1", "n2", "n3", "n4", "n5"]);
      expect(fixed.continueCursor).toBe(second.continueCursor);
    },
  },
  {
    name: "pages of an empty table end at once",
    async run(engine) {
      expect(await pages(engine, { numItems: 2 })).toEqual({ rows: [], pages: 1 });
    },
  },
  {
    name: "own writes are part of a page",
    async run(engine) {
      await fillNumbers(engine, 3);
      expect(await engine.mutation("reads:pageWithOwnWrites", { numItems: 3 })).toEqual(["n0", "n1", "own"]);
    },
  },
  {
    name: "a page of no rows is refused",
    async run(engine) {
      await expect(engine.query("reads:page", { numItems: 0, cursor: null })).rejects.toThrow();
    },
  },
  {
    name: "a second page in one function is refused",
    async run(engine) {
      await expect(engine.query("reads:twoPages")).rejects.toThrow(/paginated quer/);
    },
  },
  {
    name: "a cursor of another query is refused as InvalidCursor",
    async run(engine) {
      await fillNumbers(engine, 5);
      const { continueCursor } = await engine.query("reads:page", { numItems: 2, cursor: null });
      await expect(
        engine.query("reads:page", { numItems: 2, cursor: continueCursor, order: "desc" }),
      ).rejects.toMatchObject({ data: { isConvexSystemError: true, paginationError: "InvalidCursor" } });
    },
  },
];

function filterScenarios(): Scenario[] {
  const rows = [
    { a: 1, b: "one" },
    { a: 2, b: "two" },
    { a: 3, b: "three", n: { x: 7 } },
    { a: 4, b: "four", c: null },
  ];
  const table: [filter: string, expected: string[]][] = [
    ["sum", ["three", "four"]],
    ["product", ["two", "four"]],
    ["negated", ["one", "two"]],
    ["either", ["one", "four"]],
    ["both", ["three", "four"]],
    ["missing", ["one", "two", "three"]],
    ["nested", ["three"]],
    ["mixed", []],
    ["division", ["two"]],
  ];
  return table.map(([name, expected]) => ({
    name: `the filter "${name}" keeps what it should`,
    async run(engine) {
      await fill(engine, rows);
      expect(await engine.query("reads:filtered", { name })).toEqual(expected);
    },
  }));
}
