// The committed results of `npm run simulate -- --save`: runs on code without a known fault.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/root.ts";

const FILE = join(ROOT, "scripts/simulate/results.json");

export interface SimulatorRun {
  readonly date: string;
  readonly commit: string;
  readonly command: string;
  readonly clean: number;
  readonly failed: number;
  readonly steps: number;
}

/** Adds a run. One that failed starts the list again: what was clean before it says nothing about the fix. */
export function saveSimulatorRun(run: SimulatorRun): void {
  const before: SimulatorRun[] = existsSync(FILE) ? JSON.parse(readFileSync(FILE, "utf8")) : [];
  const isClean = [...before, run].every(({ failed }) => failed === 0);
  writeFileSync(FILE, `${JSON.stringify(isClean ? [...before, run] : [run], null, 2)}\n`);
}
