import { checkRest } from "./final-checks.ts";
import { growOld } from "./grow-old.ts";
import { perform } from "./perform.ts";
import { setScene } from "./scene.ts";
import { settleDown } from "./settle.ts";
import type { Step } from "./steps.ts";
import { Violation } from "./violation.ts";
import { World, type Functions } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  /** Null for a clean run. */
  readonly violation: Error | null;
  /** Steps that had begun by its end. */
  readonly begun: number;
  readonly commits: number;
  readonly conflicts: number;
  readonly crashes: number;
  readonly virtualMs: number;
  /** Of the whole trace: two runs that went the same way have the same. */
  readonly digest: string;
  readonly trace: readonly string[];
}

/** One seed, from a fresh deployment to the rest after all that the steps set off. */
export async function simulate(seed: number, steps: readonly Step[], functions: Functions): Promise<Outcome> {
  const world = new World(seed, functions);
  let begun = 0;
  try {
    await world.run(async () => {
      const scene = await setScene(world);
      world.startTrouble();
      const startedMs = world.turns.elapsedMs;
      const underWay: Promise<void>[] = [];
      for (const step of steps) {
        const waitMs = startedMs + step.atMs - world.turns.elapsedMs;
        if (waitMs > 0) await world.server.machine.sleep(waitMs);
        begun += 1;
        world.trace.note(`step ${step.number} ${step.what}`);
        underWay.push(perform(scene, step).catch((error: unknown) => world.fail(error)));
      }
      await Promise.all(underWay);
      await settleDown(scene);
      checkRest(scene);
      await growOld(world);
    });
    return {
      seed,
      begun,
      violation: world.violation,
      commits: world.checks.commits,
      conflicts: world.deployment.conflicts,
      crashes: world.deployment.crashes,
      virtualMs: world.turns.elapsedMs,
      digest: world.trace.digest(),
      trace: world.trace.newest(),
    };
  } finally {
    world.close();
  }
}

/** What went wrong, without the numbers of this run: two failures of one cause have the same. */
export function ruleOf(violation: Error): string {
  return violation instanceof Violation ? violation.rule : violation.message.split("\n")[0]!;
}
