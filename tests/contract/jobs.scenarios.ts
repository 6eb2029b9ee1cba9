import { expect } from "vitest";

import type { Scenario } from "./scenario.ts";

export const jobs: Scenario[] = [
  {
    name: "runAfter runs once when it is due, not before",
    async run(engine) {
      const id = await engine.mutation("jobs:schedule", { what: "mutation", b: "later", delayMs: 5_000 });
      expect(await engine.query("jobs:state", { id })).toMatchObject({
        args: [{ b: "later" }],
        kind: "pending",
        completed: false,
      });
      await engine.advanceMs(4_000);
      expect(await engine.query("jobs:notes")).toEqual([]);
      await engine.advanceMs(2_000);
      expect(await engine.query("jobs:notes")).toEqual(["later"]);
      expect(await engine.query("jobs:state", { id })).toMatchObject({ kind: "success" });
      await engine.advanceMs(20_000);
      expect(await engine.query("jobs:notes")).toEqual(["later"]);
    },
  },
  {
    name: "a job that has ended says when",
    async run(engine) {
      const id = await engine.mutation("jobs:schedule", { what: "mutation", b: "x", delayMs: 0 });
      await engine.advanceMs(1);
      expect(await engine.query("jobs:state", { id })).toMatchObject({ kind: "success", completed: true });
    },
  },
  {
    name: "the job document names the function by its canonical path",
    async run(engine) {
      const id = await engine.mutation("jobs:schedule", { what: "mutation", b: "x", delayMs: 5_000 });
      expect((await engine.query("jobs:state", { id })).name).toBe("jobs.js:note");
    },
  },
  {
    name: "runAt runs at its time, and jobs run in the order of their times",
    async run(engine) {
      await engine.mutation("jobs:scheduleAt", { b: "third", inMs: 3_000 });
      await engine.mutation("jobs:scheduleAt", { b: "first", inMs: 1_000 });
      await engine.mutation("jobs:scheduleAt", { b: "second", inMs: 2_000 });
      await engine.advanceMs(1_500);
      expect(await engine.query("jobs:notes")).toEqual(["first"]);
      await engine.advanceMs(5_000);
      expect(await engine.query("jobs:notes")).toEqual(["first", "second", "third"]);
    },
  },
  {
    name: "a scheduled action runs",
    async run(engine) {
      const id = await engine.mutation("jobs:schedule", { what: "action", b: "acted", delayMs: 0 });
      await engine.advanceMs(1);
      expect(await engine.query("jobs:notes")).toEqual(["acted"]);
      expect((await engine.query("jobs:state", { id })).kind).toBe("success");
    },
  },
  {
    name: "an action can schedule",
    async run(engine) {
      await engine.action("jobs:scheduleFromAction", { b: "by action" });
      await engine.advanceMs(1);
      expect(await engine.query("jobs:notes")).toEqual(["by action"]);
    },
  },
  {
    name: "a cancelled job does not run",
    async run(engine) {
      const id = await engine.mutation("jobs:schedule", { what: "mutation", b: "never", delayMs: 1_000 });
      await engine.mutation("jobs:cancel", { id });
      expect((await engine.query("jobs:state", { id })).kind).toBe("canceled");
      await engine.advanceMs(5_000);
      expect(await engine.query("jobs:notes")).toEqual([]);
    },
  },
  {
    name: "cancelling a job that has ended changes nothing",
    async run(engine) {
      const id = await engine.mutation("jobs:schedule", { what: "mutation", b: "done", delayMs: 0 });
      await engine.advanceMs(1);
      await engine.mutation("jobs:cancel", { id });
      expect((await engine.query("jobs:state", { id })).kind).toBe("success");
    },
  },
  {
    name: "a job that throws is failed, and its writes are undone",
    async run(engine) {
      const id = await engine.mutation("jobs:schedule", { what: "failing", b: "", delayMs: 0 });
      await engine.advanceMs(1);
      expect((await engine.query("jobs:state", { id })).kind).toBe("failed");
      expect(await engine.query("jobs:notes")).toEqual([]);
    },
  },
  {
    name: "a mutation that throws schedules nothing",
    async run(engine) {
      await expect(engine.mutation("jobs:scheduleAndFail")).rejects.toThrow("rolled back");
      await engine.advanceMs(1_000);
      expect(await engine.query("jobs:allJobs")).toBe(0);
      expect(await engine.query("jobs:notes")).toEqual([]);
    },
  },
];
