import { join } from "node:path";

import { afterEach, expect, test } from "vitest";

import type { RequestError } from "../../lib/local-convex/errors.ts";
import { localBackend, type LocalBackend, type LocalBackendOptions } from "../helpers/local-backend.ts";

let backend: LocalBackend;

const open = async (options: Partial<LocalBackendOptions>): Promise<void> => {
  backend = await localBackend({ functionsDir: join(import.meta.dirname, "functions"), ...options });
};
/** Eight transactions at once, each syscall a few milliseconds away. */
const crowded = (): Partial<LocalBackendOptions> => ({
  concurrency: 8,
  inject: { syscallLatencyMs: () => 1 + Math.random() * 3 },
});
const units = async (): Promise<Record<string, number>> => {
  const rows = await backend.query<{ name: string; units: number }[]>("faults:counters");
  return Object.fromEntries(rows.map((row) => [row.name, row.units]));
};
const settled = async (calls: Promise<unknown>[]) => {
  const results = await Promise.allSettled(calls);
  return results.filter((result) => result.status === "fulfilled").length;
};

afterEach(() => backend.close());

test("counters add up however many mutations overlap, and overlapping ones conflict", async () => {
  await open(crowded());
  const names = ["p", "q", "r"];
  const done = { p: 0, q: 0, r: 0 } as Record<string, number>;
  await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      const name = names[i % 3]!;
      const isDone = await backend.mutation("faults:increment", { name }).then(
        () => true,
        (error: RequestError) => error.code !== "OptimisticConcurrencyControlFailure",
      );
      if (isDone) done[name]!++;
    }),
  );
  expect(await units()).toEqual(done);
  expect(backend.engine.counts.conflicts).toBeGreaterThan(0);
});

test("two withdrawals that together break the rule cannot both pass", async () => {
  await open(crowded());
  await backend.mutation("faults:setCounter", { name: "p", units: 60 });
  await backend.mutation("faults:setCounter", { name: "q", units: 60 });
  const answers = await Promise.all(
    ["p", "q", "p", "q"].map((from) => backend.mutation("faults:withdraw", { from, units: 100 })),
  );
  expect(answers.filter((answer) => answer === true)).toHaveLength(1);
});

test("a query that runs beside moves sees one snapshot", async () => {
  await open(crowded());
  const names = ["p", "q", "r", "s"];
  for (const name of names) await backend.mutation("faults:setCounter", { name, units: 100 });
  // Counted from the start: a move may run out of retries before the sums are there.
  const moved = settled(
    Array.from({ length: 40 }, (_, i) =>
      backend.mutation("faults:move", { from: names[i % 4]!, to: names[(i * 3 + 1) % 4]! }),
    ),
  );
  const sums = Array.from({ length: 20 }, () => backend.query("faults:sumSlowly", { names }));
  expect(new Set(await Promise.all(sums))).toEqual(new Set([400]));
  expect(await moved).toBeGreaterThan(0);
  expect(await backend.query("faults:sumSlowly", { names })).toBe(400);
});

test("one at a time, nothing conflicts", async () => {
  await open({});
  await Promise.all(Array.from({ length: 100 }, () => backend.mutation("faults:increment", { name: "p" })));
  expect(await units()).toEqual({ p: 100 });
  expect(backend.engine.counts.conflicts).toBe(0);
});

test("conflicts without end fail with 503 after four retries", async () => {
  let isOn = false;
  let runs = 0;
  await open({ inject: { conflict: () => isOn && ++runs > 0 } });
  await backend.engine.settled();
  isOn = true;
  await expect(backend.mutation("faults:increment", { name: "p" })).rejects.toMatchObject({
    status: 503,
    code: "OptimisticConcurrencyControlFailure",
    message:
      'Documents read from or written to the "counters" table changed while this mutation was being run and on ' +
      "every subsequent retry. See https://docs.convex.dev/error#1",
  });
  expect(runs).toBe(5);
});

test("what an action schedules waits for the end of the conflicts", async () => {
  let lost = 0;
  await open({ inject: { conflict: () => lost > 0 && lost-- > 0 } });
  await backend.engine.settled();
  lost = 5;
  await backend.action("faults:incrementLater", { name: "p" });
  await backend.advanceMs(1_000);
  expect(await units()).toEqual({ p: 1 });
});

test("latency of the database is not time of the function's own code", async () => {
  await open({ inject: { syscallLatencyMs: () => 60 } });
  const names = Array.from({ length: 20 }, () => "p");
  await backend.mutation("faults:setCounter", { name: "p", units: 1 });
  expect(await backend.query("faults:sumSlowly", { names })).toBe(20);
});

test("a failed nested mutation leaves nothing, not even a write that it started and did not await", async () => {
  await open({ inject: { syscallLatencyMs: () => 2 } });
  await backend.mutation("faults:lateWriteOfNested");
  expect(await backend.query("faults:notes")).toEqual(["parent"]);
});
