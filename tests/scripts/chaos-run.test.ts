import { expect, test } from "vitest";
import { lastLine, runScript } from "./run-script.ts";

/** The real processes, on the build that the other tests of the stack use. Most of the time is waiting for rest. */
const TIMEOUT_MS = 8 * 60_000;

test(
  "three kills under load: nothing is lost and nothing is there twice",
  { timeout: TIMEOUT_MS },
  async () => {
    const argv = ["--kills", "3", "--seed", "5", "--quiet", "--json"];
    const run = await runScript(["--import", "tsx", "scripts/chaos.ts", ...argv]);
    expect(run.stderr).toBe("");
    expect(run.status).toBe(0);
    const result = JSON.parse(lastLine(run.stdout)) as {
      kills: number;
      findings: unknown[];
      lines: { what: string; answered: number }[];
    };
    expect(result).toMatchObject({ kills: 3, findings: [] });
    // A load that does nothing would lose nothing either.
    for (const what of ["admission", "charge", "settle", "click", "webhook"]) {
      expect(result.lines.find((line) => line.what === what)?.answered).toBeGreaterThan(0);
    }
  },
);
