import { expect } from "vitest";

import type { Scenario } from "./scenario.ts";

const VALUES: [string, unknown][] = [
  ["the largest int64", 2n ** 63n - 1n],
  ["the smallest int64", -(2n ** 63n)],
  ["negative zero", -0],
  ["NaN", Number.NaN],
  ["infinity", Number.POSITIVE_INFINITY],
  ["the smallest float", Number.MIN_VALUE],
  ["bytes", new Uint8Array([0, 1, 254, 255]).buffer],
  ["an astral string", "a😀\u0000z"],
  ["a nested value", { list: [1n, { deep: [null, true] }], text: "" }],
  ["null", null],
];

export const guards: Scenario[] = [
  {
    name: "time stands still inside a mutation",
    async run(engine) {
      expect(await engine.mutation("guards:time")).toEqual({ isFrozen: true, isWhole: true });
    },
  },
  {
    name: "random numbers are random",
    async run(engine) {
      expect(await engine.query("guards:random")).toEqual({ inRange: true, differ: true, uuid: true });
    },
  },
  {
    name: "fetch and timers are refused in queries and mutations",
    async run(engine) {
      await expect(engine.mutation("guards:useFetch")).rejects.toThrow(/fetch/);
      await expect(engine.query("guards:useTimer")).rejects.toThrow(/setTimeout/);
    },
  },
  {
    name: "a refused fetch or timer points to actions in Convex's own words",
    async run(engine) {
      const text = (what: string) =>
        `Can't use ${what} in queries and mutations. Please consider using an action.`;
      await expect(engine.mutation("guards:useFetch")).rejects.toThrow(text("fetch()"));
      await expect(engine.query("guards:useTimer")).rejects.toThrow(text("setTimeout()"));
    },
  },
  ...VALUES.map(([name, value]): Scenario => ({
    name: `${name} survives the call, the database and an index`,
    async run(engine) {
      const echoed = await engine.query("guards:echo", { value });
      expect(Object.is(echoed, value) || typeof value === "object", String(echoed)).toBe(true);
      expect(echoed).toEqual(value);
      const stored = await engine.mutation("guards:store", { value });
      expect(stored.value).toEqual(value);
      expect(stored.same).toEqual([true]);
    },
  })),
];
