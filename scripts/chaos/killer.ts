// When what is killed: all of it follows from the seed, but for what the processes happened to be doing at that instant.
import { setTimeout as sleep } from "node:timers/promises";
import type { Chance } from "../../lib/simulator/chance.ts";
import { CliError } from "../support/cli.mjs";
import { type ChaosStack, PARTS, type PartName } from "./stack.ts";

/** How often each kind of kill comes. */
const KIND_WEIGHTS = {
  engine: 4,
  web: 4,
  emulator: 2,
  "engine and web": 1,
  everything: 2,
  /** Killed once more while it comes up. */
  "engine, again while it starts": 1,
  "web, again while it starts": 1,
  worker: 3,
} as const;

export type KillKind = keyof typeof KIND_WEIGHTS;
export const KILL_KINDS = Object.keys(KIND_WEIGHTS) as KillKind[];

const VICTIMS: Readonly<Record<Exclude<KillKind, "worker">, readonly PartName[]>> = {
  engine: ["engine"],
  web: ["web"],
  emulator: ["emulator"],
  "engine and web": ["engine", "web"],
  everything: PARTS,
  "engine, again while it starts": ["engine"],
  "web, again while it starts": ["web"],
};

/** From everything being up to the next kill. */
const BEFORE_KILL_MS = { first: 50, last: 1_500 } as const;
/** From a start to the kill that meets it half-way. */
const WHILE_STARTING_MS = { first: 100, last: 1_500 } as const;

export interface KillerOptions {
  readonly stack: ChaosStack;
  readonly chance: Chance;
  readonly kills: number;
  /** Kills one of the workers that run; null when none does. */
  readonly killWorker: (chance: Chance) => string | null;
  readonly onKill: (number: number, kind: KillKind, downMs: number) => void;
}

/** Kills and starts again until so many kills are done; everything is up then. Returns how many there were of each kind. */
export async function killAndRestart(options: KillerOptions): Promise<Map<KillKind, number>> {
  const { stack, chance, kills, killWorker, onKill } = options;
  const counts = new Map<KillKind, number>();
  for (let number = 1; number <= kills;) {
    await sleep(chance.between(BEFORE_KILL_MS.first, BEFORE_KILL_MS.last));
    requireAlive(stack);
    const kind = chance.weighted(KIND_WEIGHTS);
    const startedMs = performance.now();
    if (kind === "worker") {
      if (killWorker(chance) === null) continue;
    } else {
      number += await killParts(stack, chance, kind, kills - number);
    }
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    onKill(number, kind, performance.now() - startedMs);
    number += 1;
  }
  return counts;
}

/** Returns how many kills there were beyond the first. */
async function killParts(
  stack: ChaosStack,
  chance: Chance,
  kind: Exclude<KillKind, "worker">,
  killsLeft: number,
): Promise<number> {
  const victims = VICTIMS[kind];
  const again = kind.includes("again") && killsLeft > 0;
  await stack.kill(victims);
  stack.start(victims);
  if (again) {
    await sleep(chance.between(WHILE_STARTING_MS.first, WHILE_STARTING_MS.last));
    await stack.kill(victims);
    stack.start(victims);
  }
  await stack.ready(victims);
  return again ? 1 : 0;
}

/** A part that ends by itself is a fault of its own, and waiting for it would hide it. */
function requireAlive(stack: ChaosStack): void {
  const [dead] = stack.dead();
  if (dead !== undefined) {
    throw new CliError(`${dead} ended by itself; its lines are in ${stack.dataDir}/logs`);
  }
}
