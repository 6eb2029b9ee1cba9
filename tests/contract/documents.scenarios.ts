import { expect } from "vitest";

import type { Scenario } from "./scenario.ts";

const nested = (levels: number): unknown => (levels === 0 ? 1 : { x: nested(levels - 1) });

export const documents: Scenario[] = [
  {
    name: "an inserted document comes back with its system fields",
    async run(engine) {
      const id = await engine.mutation("documents:insert", { value: { a: 1, text: "x" } });
      const found = await engine.query("documents:get", { id });
      expect(found).toEqual({ _id: id, _creationTime: expect.any(Number), a: 1, text: "x" });
    },
  },
  {
    name: "a patch with undefined removes the field and keeps the others",
    async run(engine) {
      const id = await engine.mutation("documents:insert", { value: { a: 1, b: 2, c: 3 } });
      const { _creationTime } = await engine.query("documents:get", { id });
      const patched = await engine.mutation("documents:patch", { id, fields: { b: 5 }, unset: ["c", "d"] });
      expect(patched).toEqual({ _id: id, _creationTime, a: 1, b: 5 });
    },
  },
  {
    name: "a replace drops what it does not name and keeps id and creation time",
    async run(engine) {
      const id = await engine.mutation("documents:insert", { value: { a: 1, b: 2 } });
      const { _creationTime } = await engine.query("documents:get", { id });
      expect(await engine.mutation("documents:replace", { id, value: { c: 3 } })).toEqual({
        _id: id,
        _creationTime,
        c: 3,
      });
    },
  },
  {
    name: "patch and replace accept the document's own system fields",
    async run(engine) {
      const id = await engine.mutation("documents:insert", { value: { a: 1 } });
      const own = await engine.query("documents:get", { id });
      expect(await engine.mutation("documents:patch", { id, fields: own })).toEqual(own);
      expect(await engine.mutation("documents:replace", { id, value: own })).toEqual(own);
    },
  },
  {
    name: "a deleted document is gone, and writing to it fails",
    async run(engine) {
      const id = await engine.mutation("documents:insert", { value: { a: 1 } });
      expect(await engine.mutation("documents:remove", { id })).toBeNull();
      expect(await engine.query("documents:get", { id })).toBeNull();
      await expect(engine.mutation("documents:patch", { id, fields: { a: 2 } })).rejects.toThrow(
        /non-?existent/i,
      );
      await expect(engine.mutation("documents:replace", { id, value: {} })).rejects.toThrow(/non-?existent/i);
      await expect(engine.mutation("documents:remove", { id })).rejects.toThrow(/non-?existent/i);
    },
  },
  {
    name: "own writes are seen by later reads of the transaction: by id, in ranges and in scans",
    async run(engine) {
      expect(await engine.mutation("documents:ownWrites")).toEqual({
        inRange: ["moved", "kept"],
        above: 0,
        all: ["moved", "kept"],
        byId: ["kept", null],
      });
    },
  },
  {
    name: "changes to stored rows are seen in the ranges they leave and enter",
    async run(engine) {
      const insert = (a: number, b: string) => engine.mutation("documents:insert", { value: { a, b } });
      const [, two, three] = [await insert(1, "one"), await insert(2, "two"), await insert(3, "three")];
      await insert(4, "four");
      expect(await engine.mutation("documents:changeAndRead", { move: two, drop: three, a: 9 })).toEqual([
        "two",
        "four",
        "one",
      ]);
    },
  },
  {
    name: "a mutation that throws leaves nothing behind",
    async run(engine) {
      await expect(engine.mutation("documents:failAfterWrite")).rejects.toThrow("no, not this one");
      expect(await engine.query("jobs:notes")).toEqual([]);
    },
  },
  {
    name: "the schema refuses a wrong type, a missing field and an extra field",
    async run(engine) {
      const insert = (value: object) => engine.mutation("documents:insertAccount", { value });
      await expect(insert({ name: "n", balance: "1" })).rejects.toThrow(/schema|validator/i);
      await expect(insert({ name: "n" })).rejects.toThrow(/missing/i);
      await expect(insert({ name: "n", balance: 1, more: 1 })).rejects.toThrow(/more/);
      await insert({ name: "n", balance: 1 });
    },
  },
  {
    name: "a patch that breaks the schema is refused",
    async run(engine) {
      const id = await engine.mutation("documents:insertAccount", { value: { name: "n", balance: 1 } });
      await expect(engine.mutation("documents:patch", { id, fields: { balance: "x" } })).rejects.toThrow(
        /schema|validator/i,
      );
      await expect(engine.mutation("documents:patch", { id, fields: {}, unset: ["name"] })).rejects.toThrow();
    },
  },
  {
    name: "field names with a leading underscore are refused",
    async run(engine) {
      await expect(engine.mutation("documents:insert", { value: { _secret: 1 } })).rejects.toThrow(/_secret/);
    },
  },
  {
    name: "creation times increase from document to document",
    async run(engine) {
      const times: number[] = [];
      for (let i = 0; i < 5; i++) {
        const id = await engine.mutation("documents:insert", { value: { a: i } });
        times.push((await engine.query("documents:get", { id }))._creationTime);
      }
      expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b));
    },
  },
  {
    name: "normalizeId knows the table of an id and refuses text that is none",
    async run(engine) {
      const id = await engine.mutation("documents:insert", { value: {} });
      expect(await engine.query("documents:normalize", { table: "things", id })).toBe(id);
      expect(await engine.query("documents:normalize", { table: "accounts", id })).toBeNull();
      expect(await engine.query("documents:normalize", { table: "things", id: "not an id" })).toBeNull();
    },
  },
  {
    name: "an id of another table is refused by the schema",
    async run(engine) {
      const thing = await engine.mutation("documents:insert", { value: {} });
      await expect(
        engine.mutation("ids:entry", { value: { account: thing, kind: "credit", units: 1 } }),
      ).rejects.toThrow();
    },
  },
  {
    name: "documents may be nested 16 deep, not 17",
    async run(engine) {
      await engine.mutation("documents:insert", { value: { a: nested(14) } });
      await expect(engine.mutation("documents:insert", { value: { a: nested(17) } })).rejects.toThrow(
        /nested/i,
      );
    },
  },
  {
    name: "a document larger than 1 MiB is refused",
    async run(engine) {
      await engine.mutation("documents:insert", { value: { a: "x".repeat(1_000_000) } });
      await expect(
        engine.mutation("documents:insert", { value: { a: "x".repeat(1_050_000) } }),
      ).rejects.toThrow(/too large/i);
    },
  },
  {
    name: "an array longer than 8192 is refused",
    async run(engine) {
      await expect(
        engine.mutation("documents:insert", { value: { a: Array.from({ length: 8_193 }, () => 1) } }),
      ).rejects.toThrow(/Array length is too long/);
    },
  },
];
