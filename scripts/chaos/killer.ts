// When what is killed: all of it follows from the seed, but for what the processes happen to be doing at that instant.
import { setTimeout as sleep } from "node:timers/promises";
import type { Chance } from "../../lib/simulator/chance.ts";
import { CliError } from "../support/cli.mjs";
import { type ChaosStack, PARTS, type PartName } from "./stack.ts";

/** How often each kind of kill comes. */
const WEIGHTS = { engine: 4, web: 4, emulator: 2, "engine and web": 1, everything: 2, worker: 3 } as const;
type Aim = keyof typeof WEIGHTS;

const VICTIMS: Readonly<Record<Exclude<Aim, "worker">, readonly PartName[]>> = {
  engine: ["engine"],
  web: ["web"],
  emulator: ["emulator"],
  "engine and web": ["engine", "web"],
  everything: PARTS,
};

/** How often what was killed is killed once more while it comes up. */
const AGAIN = 0.2;

/** From everything being up to the next kill. */
const BEFORE_KILL_MS = { first: 50, last: 1_500 } as const;
/** From a start to the kill that meets it half-way. */
const WHILE_STARTING_MS = { first: 100, last: 1_500 } as const;

/** One SIGKILL, of one process or of several at one instant. */
export interface Kill {
  readonly kind: Aim | "what was starting";
  readonly processes: number;
}

export interface KillerOptions {
  readonly stack: ChaosStack;
  readonly chance: Chance;
  readonly kills: number;
  /** Kills one of the workers that run; false when none does. */
  readonly killWorker: (chance: Chance) => boolean;
  /** Told of each kill; `number` counts them from 1. */
  readonly onKill: (number: number, kill: Kill) => void;
}

/** Kills and starts again until so many kills are done. Everything is up then. */
export async function killAndRestart(options: KillerOptions): Promise<readonly Kill[]> {
  const { stack, chance, kills, killWorker, onKill } = options;
  const done: Kill[] = [];
  const note = (kind: Kill["kind"], processes: number): void => {
    done.push({ kind, processes });
    onKill(done.length, { kind, processes });
  };
  while (done.length < kills) {
    await sleep(chance.between(BEFORE_KILL_MS.first, BEFORE_KILL_MS.last));
    requireAlive(stack);
    const aim = chance.weighted(WEIGHTS);
    if (aim === "worker") {
      if (killWorker(chance)) note(aim, 1);
      continue;
    }
    const victims = VICTIMS[aim];
    await stack.kill(victims);
    note(aim, victims.length);
    stack.start(victims);
    if (chance.strikes(AGAIN) && done.length < kills) {
      await sleep(chance.between(WHILE_STARTING_MS.first, WHILE_STARTING_MS.last));
      await stack.kill(victims);
      note("what was starting", victims.length);
      stack.start(victims);
    }
    await stack.ready(victims);
  }
  return done;
}

/** A part that ends by itself is a fault of its own, and waiting for it would hide it. */
function requireAlive(stack: ChaosStack): void {
  const [dead] = stack.dead();
  if (dead !== undefined) {
    throw new CliError(`${dead} ended by itself; its lines are in ${stack.dataDir}/logs`);
  }
}
