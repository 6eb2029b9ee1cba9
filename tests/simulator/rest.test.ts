import { beforeAll, expect, test } from "vitest";

import { MINUTE_MS, SECOND_MS } from "../../lib/shared/durations.ts";
import { checkRest } from "../../lib/simulator/final-checks.ts";
import { setScene } from "../../lib/simulator/scene.ts";
import { awaitRuns } from "../../lib/simulator/settle.ts";
import { World, type Functions } from "../../lib/simulator/world.ts";
import { builtFunctions, sabotaged } from "./functions.ts";

/* Workers begin by the clock, so one may be at it at the very instant that everything is looked at. */

let functions: Functions;
beforeAll(async () => {
  functions = await builtFunctions();
});

const statusOf = (world: World, name: string): unknown =>
  [...world.checks.mirror.rows("runs").values()].find((row) => row["name"] === name)?.["status"];

/** A fresh world at the instant at which its sweeper has begun, and what `work` finds wrong in it. */
async function whileSweeping(
  deployed: Functions,
  work: (scene: Awaited<ReturnType<typeof setScene>>) => Promise<void>,
): Promise<Error | null> {
  const world = new World(1, deployed);
  try {
    await world.run(async () => {
      const scene = await setScene(world);
      await world.server.machine.sleep(MINUTE_MS);
      while (statusOf(world, "sweeper") !== "running") await world.server.machine.sleep(0.2);
      await work(scene);
    });
    return world.violation;
  } finally {
    world.close();
  }
}

test("a run that is under way is waited for, and has to be good", async () => {
  let status: unknown;
  const violation = await whileSweeping(functions, async (scene) => {
    expect(statusOf(scene.world, "sweeper")).toBe("running");
    await awaitRuns(scene.world);
    status = statusOf(scene.world, "sweeper");
    checkRest(scene);
  });
  expect(violation).toBeNull();
  expect(status).toBe("good");
});

test("a run that never ends is found, however often the next one begins", async () => {
  const endless = sabotaged(functions, "{ status, counts, lastFinishedAtMs: nowMs, ...good }", "{ counts }");
  let waitedMs = 0;
  const violation = await whileSweeping(endless, async ({ world }) => {
    const beganMs = world.turns.elapsedMs;
    await awaitRuns(world).finally(() => (waitedMs = world.turns.elapsedMs - beganMs));
  });
  expect(violation).toMatchObject({ rule: "in the end every run that began has ended" });
  expect(waitedMs).toBeLessThan(15 * SECOND_MS);
});
