import { ConvexError } from "convex/values";
import { expect } from "vitest";

import type { Scenario } from "./scenario.ts";

const data = async (call: Promise<unknown>): Promise<unknown> => {
  const error: unknown = await call.then(
    () => null,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(ConvexError);
  return (error as ConvexError<any>).data;
};

export const calls: Scenario[] = [
  {
    name: "a nested mutation that fails takes back its own writes only",
    async run(engine) {
      expect(await engine.mutation("calls:rollback")).toMatchObject({
        inside: 2,
        rows: ["mine", "second"],
      });
      expect(await engine.query("jobs:notes")).toEqual(["mine", "second"]);
    },
  },
  {
    name: "the data of a ConvexError in a nested mutation can be read by its caller",
    async run(engine) {
      expect((await engine.mutation("calls:rollback")).data).toEqual({
        code: "refused",
        big: 5n,
        b: "theirs",
      });
    },
  },
  {
    name: "nested mutations started together run one after another",
    async run(engine) {
      expect(await engine.mutation("calls:parallelNested")).toEqual(["x", "y", "z"]);
    },
  },
  {
    name: "a query may call a query, an internal one too",
    async run(engine) {
      await engine.mutation("documents:insert", { value: {} });
      expect(await engine.query("calls:queryInQuery")).toEqual({ nested: 1 });
    },
  },
  {
    name: "an action runs queries and mutations, each its own transaction",
    async run(engine) {
      expect(await engine.action("calls:actionMix")).toEqual({
        before: 0,
        after: 1,
        data: { code: "refused", big: 5n, b: "lost" },
      });
    },
  },
  {
    name: "ConvexError data of every type reaches the caller, and the transaction is undone",
    async run(engine) {
      for (const value of ["text", 5n, null, [1, "two"], { deep: { list: [true] } }]) {
        expect(await data(engine.mutation("calls:failWithData", { data: value }))).toEqual(value);
      }
      expect(await engine.query("calls:count")).toBe(0);
    },
  },
  {
    name: "ConvexError data goes through an action that calls an action",
    async run(engine) {
      expect(await data(engine.action("calls:actionThrows"))).toEqual({
        from: "inner",
        bytes: new Uint8Array([1, 2]).buffer,
      });
    },
  },
  {
    name: "an ordinary error keeps its text and is no ConvexError",
    async run(engine) {
      const failure = engine.query("calls:failPlain");
      await expect(failure).rejects.toThrow("plain failure");
      await expect(failure).rejects.not.toBeInstanceOf(ConvexError);
    },
  },
  {
    name: "nobody is signed in",
    async run(engine) {
      expect(await engine.query("calls:identity")).toBeNull();
    },
  },
  {
    name: "arguments are checked: a missing, a wrong and an extra one",
    async run(engine) {
      const call = (args: Record<string, unknown>) => engine.query("calls:strictArgs", args);
      expect(await call({ name: "n", kind: "a" })).toEqual({ name: "n", kind: "a" });
      await expect(call({ kind: "a" })).rejects.toThrow(/name/);
      await expect(call({ name: 5, kind: "a" })).rejects.toThrow();
      await expect(call({ name: "n", kind: "c" })).rejects.toThrow();
      await expect(call({ name: "n", kind: "a", more: 1 })).rejects.toThrow(/more/);
    },
  },
  {
    name: "arguments of nested calls are checked, and the failure can be caught",
    async run(engine) {
      expect(await engine.mutation("calls:nestedBadArgs")).toBe("caught");
    },
  },
  {
    name: "a return value that breaks its validator fails the call",
    async run(engine) {
      await expect(engine.query("calls:wrongReturn")).rejects.toThrow();
    },
  },
  {
    name: "returning nothing is null",
    async run(engine) {
      expect(await engine.mutation("calls:returnsNothing")).toBeNull();
    },
  },
  {
    name: "the default export is called by the file's name",
    async run(engine) {
      expect(await engine.query("calls")).toBe("the default export");
      expect(await engine.query("calls:default")).toBe("the default export");
    },
  },
  {
    name: "a function that does not exist, or is of another kind, fails",
    async run(engine) {
      await expect(engine.query("calls:nothing")).rejects.toThrow();
      await expect(engine.query("nowhere:nothing")).rejects.toThrow();
      await expect(engine.mutation("calls:count")).rejects.toThrow();
    },
  },
  {
    name: "a client cannot call an internal function",
    async run(engine) {
      await expect(engine.query("calls:hiddenCount")).rejects.toThrow(
        "Could not find public function for 'calls:hiddenCount'.",
      );
    },
  },
];
