import type { Tenant } from "./job-life.ts";
import { Scene } from "./perform.ts";
import { OPERATOR_KEY_HASH } from "./server.ts";
import type { Step } from "./steps.ts";
import { check } from "./violation.ts";
import { World, type Functions } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  /** Null for a clean run. */
  readonly violation: Error | null;
  readonly commits: number;
  readonly conflicts: number;
  readonly crashes: number;
  readonly virtualMs: number;
  /** Of the whole trace: two runs that went the same way have the same. */
  readonly digest: string;
  readonly trace: readonly string[];
}

/** One seed, from a fresh deployment to the end of all that the steps set off. */
export async function simulate(seed: number, steps: readonly Step[], functions: Functions): Promise<Outcome> {
  const world = new World(seed, functions);
  try {
    await world.run(() => life(world, steps));
    return {
      seed,
      steps: steps.length,
      violation: world.violation,
      commits: world.checks.commits,
      conflicts: 0,
      crashes: world.deployment.crashes,
      virtualMs: world.turns.elapsedMs,
      digest: world.trace.digest(),
      trace: world.trace.newest(),
    };
  } finally {
    world.close();
  }
}

async function life(world: World, steps: readonly Step[]): Promise<void> {
  await world.deployment.start();
  const tenants: Tenant[] = [];
  const operator = world.server.as(OPERATOR_KEY_HASH);
  for (const index of [1, 2, 3]) {
    const name = `tenant ${index}`;
    const made = await operator.mutation<{ account: { id: string } }>("accounts:create", {
      name,
      limitUnits: 10_000,
      jobsPerMinute: 60,
      cycleAnchor: "2026-01-01T00:00:00Z",
    });
    const keyHash = index.toString(16).padStart(64, "0");
    const accountId = made!.account.id;
    const scopes = [
      "jobs:read",
      "jobs:write",
      "usage:read",
      "links:read",
      "links:write",
      "events:replay",
      "reminders:write",
    ];
    await operator.mutation("apiKeys:create", {
      accountId,
      keyHashNew: keyHash,
      prefix: "hf_live_test",
      name,
      scopes,
    });
    tenants.push({ name, accountId, keyHash });
  }
  const scene = new Scene(world, tenants);
  world.startTrouble();
  const underWay: Promise<void>[] = [];
  for (const step of steps) {
    await world.server.machine.sleep(step.afterMs);
    world.trace.note(`step ${step.number} ${step.what}`);
    underWay.push(scene.perform(step).catch((error: unknown) => world.fail(error as Error)));
  }
  await Promise.all(underWay);
  world.endTrouble();
  await world.server.machine.sleep(5 * 60_000);
  for (const budget of world.checks.mirror.rows("budgets").values()) {
    check(budget["heldUnits"] === 0, "in the end nothing is held", () => JSON.stringify(budget));
  }
}
