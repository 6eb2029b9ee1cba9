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

/** Both write over files of the repository, so a look at the help must not start them. */
test.each(["figures", "screenshots"])(
  "%s has a help text and refuses what it does not know, and writes nothing",
  async (name) => {
    const script = ["--import", "tsx", `scripts/${name}.ts`];
    const help = await runScript([...script, "--help"]);
    expect(help).toMatchObject({ status: 0, stderr: "" });
    expect(help.stdout).toMatch(new RegExp(`^npm run ${name}: .*\nWrites `));
    expect(help.stdout).not.toContain("written:");
    const unknown = await runScript([...script, "--hlep"]);
    expect(unknown).toMatchObject({ status: 2, stdout: "" });
    expect(unknown.stderr).toBe(`${name}: unknown option --hlep (--help lists them)\n`);
  },
  TIMEOUT_MS,
);
