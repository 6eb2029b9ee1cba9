import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lastLine, runScript } from "./run-script.ts";

const TIMEOUT_MS = 60_000;

interface Figures {
  readonly lab: unknown;
  readonly engineRoom: unknown;
  readonly reconcile: { readonly date: string; readonly seconds: number };
}

interface BenchRun {
  readonly bench: string;
  readonly date: string;
  readonly figures: Readonly<Record<string, { readonly seconds: number }>>;
}

const read = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
const figures = read("app/(site)/figures.json") as Figures;

test.each([
  ["lab", "scripts/lab.ts"],
  ["engineRoom", "scripts/engine-room.ts"],
] as const)(
  "the landing page quotes what %s prints today",
  async (name, script) => {
    const { status, stdout } = await runScript(["--import", "tsx", script, "--json"]);
    expect(status).toBe(0);
    expect(figures[name]).toEqual(JSON.parse(lastLine(stdout)));
  },
  TIMEOUT_MS,
);

test("the landing page quotes the newest saved run of the reconcile bench", () => {
  const runs = read("scripts/bench/results.json") as BenchRun[];
  const saved = runs.findLast(({ bench }) => bench === "reconcile");
  expect(figures.reconcile).toMatchObject({
    date: saved?.date,
    seconds: Math.round(saved?.figures["1,000,000 rows"]?.seconds ?? Number.NaN),
  });
});
