import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { compareValues, type Value } from "convex/values";
import { afterEach, beforeEach, expect, test } from "vitest";

import { seededRandom } from "../../lib/local-convex/random.ts";
import { localBackend, type LocalBackend } from "../helpers/local-backend.ts";

/*
 * Random transactions against a naive model: one array of rows, sorted anew for every read. Every answer of every
 * step must agree, nested mutations that are taken back included, and so must the table after a restart.
 */
interface Row {
  _id: string;
  a?: Value;
  b: number;
  text?: string;
}

type Step =
  | { op: "insert"; row: Omit<Row, "_id"> }
  | { op: "patch"; id: string; row: Omit<Row, "_id"> }
  | { op: "replace"; id: string; row: Omit<Row, "_id"> }
  | { op: "unset"; id: string }
  | { op: "delete"; id: string }
  | { op: "read"; index: string; bounds: Bound[]; order: "asc" | "desc"; take: number | null }
  | { op: "nested"; steps: Step[]; fail: boolean };

interface Bound {
  op: "eq" | "gt" | "gte" | "lt" | "lte";
  field: "a" | "b";
  value?: Value;
}

const TRANSACTIONS = 900;
const SEED = 20_261_010;
const KEYS = [null, 1n, -2.5, 0, 3, true, "", "k", "k\0", "ka", [1], { x: 1 }];
const FIELDS: Record<string, ("a" | "b")[]> = { by_a: ["a"], by_b_a: ["b", "a"], by_creation_time: [] };

let folder: string;
let backend: LocalBackend;
const open = () =>
  localBackend({
    functionsDir: join(import.meta.dirname, "functions"),
    dataFile: join(folder, "model.sqlite"),
  });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "model-"));
  backend = await open();
});

afterEach(async () => {
  await backend.close();
  rmSync(folder, { recursive: true, force: true });
});

test("random transactions answer as a sorted array does, also over restarts", async () => {
  const random = seededRandom(SEED);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
  /** Rows in creation order. */
  let rows: Row[] = [];
  const known: string[] = ["none"];
  let steps = 0;

  const newRow = (): Omit<Row, "_id"> => ({
    ...(random.next() < 0.8 ? { a: pick(KEYS) } : {}),
    b: Math.floor(random.next() * 4),
    ...(random.next() < 0.3 ? { text: "t".repeat(Math.floor(random.next() * 40)) } : {}),
  });

  const newRead = (): Step => {
    const index = pick(Object.keys(FIELDS));
    const fields = FIELDS[index]!;
    const equal = Math.floor(random.next() * (fields.length + 1));
    const value = (field: "a" | "b") =>
      field === "b" ? Math.floor(random.next() * 4) : pick([...KEYS, undefined]);
    const bound = (op: Bound["op"], field: "a" | "b"): Bound => {
      const at = value(field);
      return { op, field, ...(at === undefined ? {} : { value: at }) };
    };
    const bounds = fields.slice(0, equal).map((field) => bound("eq", field));
    const next = fields[equal];
    if (next !== undefined && random.next() < 0.6) bounds.push(bound(pick(["gt", "gte"]), next));
    if (next !== undefined && random.next() < 0.6) bounds.push(bound(pick(["lt", "lte"]), next));
    return {
      op: "read",
      index,
      bounds,
      order: pick(["asc", "desc"]),
      take: random.next() < 0.5 ? null : Math.floor(random.next() * 30),
    };
  };

  const newStep = (depth: number): Step => {
    const roll = random.next();
    if (roll < 0.4) return newRead();
    if (roll < 0.62) return { op: "insert", row: newRow() };
    const id = pick(known);
    if (id === "none") return { op: "insert", row: newRow() };
    if (roll < 0.72) return { op: "patch", id, row: newRow() };
    if (roll < 0.78) return { op: "replace", id, row: newRow() };
    if (roll < 0.82) return { op: "unset", id };
    if (roll < 0.92 || depth > 2) return { op: "delete", id };
    return { op: "nested", steps: newSteps(depth + 1), fail: random.next() < 0.5 };
  };
  const newSteps = (depth: number): Step[] =>
    Array.from({ length: 1 + Math.floor(random.next() * 8) }, () => newStep(depth));

  for (let i = 0; i < TRANSACTIONS; i++) {
    const transaction = newSteps(0);
    const fail = random.next() < 0.15;
    const before = structuredClone(rows);
    const answer = await backend
      .mutation<unknown[]>("model:run", { steps: transaction, fail })
      .catch((error: Error) => error.message);
    if (fail) {
      expect(answer).toContain("taken back");
      rows = before;
      continue;
    }
    const expected = apply(transaction, answer as unknown[]);
    steps += expected.length;
    expect(answer, `transaction ${i}: ${describe(transaction)}`).toEqual(expected);
    for (const row of rows) if (!known.includes(row._id)) known.push(row._id);
    if (known.length > 60) known.splice(1, known.length - 60);
    if (i % 300 === 299) {
      await backend.close();
      backend = await open();
      const stored = await backend.readAll<Row & { _creationTime: number }>("rows");
      expect(stored.map(({ _creationTime, ...row }) => row)).toEqual(rows);
    }
  }
  expect(steps).toBeGreaterThan(2_000);

  /** Plays the steps on the array; ids of new rows are taken from the engine's answer. */
  function apply(list: Step[], answers: unknown[]): unknown[] {
    return list.map((step, at) => {
      if (step.op === "insert") {
        rows.push({ _id: answers[at] as string, ...step.row });
        return answers[at];
      }
      if (step.op === "read") return read(step);
      if (step.op === "nested") {
        const before = structuredClone(rows);
        if (!step.fail) return apply(step.steps, answers[at] as unknown[]);
        rows = before;
        return "taken back";
      }
      const position = rows.findIndex((row) => row._id === step.id);
      if (position === -1) return "gone";
      const { a: _a, ...withoutA } = rows[position]!;
      if (step.op === "delete") rows.splice(position, 1);
      else if (step.op === "unset") rows[position] = withoutA;
      else if (step.op === "patch") rows[position] = { ...rows[position]!, ...step.row };
      else rows[position] = { _id: step.id, ...step.row };
      return null;
    });
  }

  function read({ index, bounds, order, take }: Extract<Step, { op: "read" }>): string[] {
    const fields = FIELDS[index]!;
    const found = rows.filter((row) => bounds.every((bound) => matches(row, bound)));
    const sorted = found
      .map((row, at) => ({ row, at }))
      .toSorted((x, y) => {
        for (const field of fields) {
          const order = compareValues(x.row[field], y.row[field]);
          if (order !== 0) return order;
        }
        return x.at - y.at;
      })
      .map(({ row }) => row._id);
    const ordered = order === "asc" ? sorted : sorted.toReversed();
    return take === null ? ordered : ordered.slice(0, take);
  }
});

function matches(row: Row, { op, field, value }: Bound): boolean {
  const order = compareValues(row[field], value);
  return { eq: order === 0, gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[op];
}

function describe(steps: Step[]): string {
  return JSON.stringify(steps, (_key, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
}
