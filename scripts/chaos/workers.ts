// scripts/worker.mjs as processes of their own, which are killed too. What one says on its output is what it was answered.
import { type ChildProcess, spawn } from "node:child_process";
import type { Chance } from "../../lib/simulator/chance.ts";
import { ROOT } from "../support/root.ts";
import { type Customer, type Load, pause } from "./client.ts";
import type { JobNote } from "./journal.ts";

const STEPS = 5;
const STEP_UNITS = 7;
/** Less than all steps together, in some jobs: those are capped. */
const UNITS = [STEPS * STEP_UNITS, STEPS * STEP_UNITS - 4] as const;
const STEP_MS = 150;
/** A job goes to a next worker so often at most; then its lease ends it. */
const WORKERS_MAX = 6;
const PAUSE_MS_MAX = 400;

/** Workers that run right now. */
export class Workers {
  readonly #running = new Set<ChildProcess>();

  /** One job after the other, each handed to a next worker when one ended before it. */
  async run(load: Load, chance: Chance, lane: number, customers: readonly Customer[], url: string) {
    for (let number = 1; !load.stopping.aborted; number++) {
      const customer = chance.pick(customers);
      const note = newNote(customer.accountId, `worker-${lane}-${number}`, chance.pick(UNITS));
      load.journal.jobs.push(note);
      for (let workers = 0; workers < WORKERS_MAX && !isOver(note); workers++) {
        await this.#work(note, customer.token, url);
        await pause(load, chance.below(PAUSE_MS_MAX));
      }
    }
  }

  /** SIGKILL to one of them; false when none runs. */
  killOne(chance: Chance): boolean {
    const alive = [...this.#running];
    if (alive.length === 0) return false;
    return chance.pick(alive).kill("SIGKILL");
  }

  #work(note: JobNote, token: string, url: string): Promise<void> {
    const options = {
      key: note.key,
      units: note.units,
      steps: STEPS,
      "step-units": STEP_UNITS,
      "step-ms": STEP_MS,
      "lease-ms": 10_000,
      kind: "chaos",
      url,
    };
    const argv = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const child = spawn(process.execPath, ["scripts/worker.mjs", "--take-over", ...argv], {
      cwd: ROOT,
      env: { ...process.env, HOLDFAST_API_KEY: token },
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#running.add(child);
    let rest = "";
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString("utf8")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) readLine(note, line);
    });
    return new Promise((resolve) => {
      const end = (): void => {
        this.#running.delete(child);
        resolve();
      };
      child.once("error", end);
      child.once("close", end);
    });
  }
}

/** Every step may have been sent by the time its worker dies, whether or not it came to say so. */
export function newNote(accountId: string, key: string, units: number): JobNote {
  const steps = Array.from({ length: STEPS }, (_, index) => {
    return { step: index + 1, units: STEP_UNITS, chargedUnits: null };
  });
  const settle = { outcome: "completed", usedUnits: null };
  return {
    accountId,
    key,
    units,
    admitted: null,
    refused: false,
    steps,
    extensions: [],
    settle,
    ended: null,
  };
}

function isOver({ ended }: JobNote): boolean {
  return ended !== null;
}

const BEGUN = /^job (\S+): (?:holds \d+ units|taken over after step \d+)$/;
const STEP = /^step (\d+): charged (\d+),/;
const ENDED = /^job (\S+): (completed|capped|expired|failed|cancelled), used (\d+), returned (\d+)$/;

/** Takes a line of a worker into the journal. */
export function readLine(note: JobNote, line: string): void {
  const { key } = note;
  const view = (id: string, status: string, heldUnits: number, usedUnits: number) => {
    return { id, key, status, heldUnits, usedUnits, step: 0, fence: 0 };
  };
  const begun = BEGUN.exec(line);
  // All or nothing is asked for, so what is admitted holds what was asked.
  if (begun !== null) note.admitted ??= view(String(begun[1]), "running", note.units, 0);
  const step = STEP.exec(line);
  const noted = note.steps[Number(step?.[1]) - 1];
  if (noted !== undefined) noted.chargedUnits = Number(step?.[2]);
  const ended = ENDED.exec(line);
  if (ended === null) return;
  const usedUnits = Number(ended[3]);
  note.ended ??= view(String(ended[1]), String(ended[2]), usedUnits + Number(ended[4]), usedUnits);
}
