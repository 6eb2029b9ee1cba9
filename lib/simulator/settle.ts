import { MINUTE_MS, SECOND_MS } from "../shared/durations.ts";
import { callerOf } from "./customer-acts.ts";
import { operate } from "./operate.ts";
import { checkReporter } from "./final-checks.ts";
import type { Scene } from "./perform.ts";
import { check } from "./violation.ts";
import type { World } from "./world.ts";

/** A webhook may be much delayed, and the last one of a crash is tried again two minutes later. */
const COURIER_MS_MAX = 15 * MINUTE_MS;
/** Longer than any wait after failures, and than a plan fact counts as fresh. */
const OLD_MS = 16 * MINUTE_MS;
/** Nothing is in a worker's way by then, so its run takes well under a second; the next sweep begins after 15. */
const RUN_MS_MAX = 5 * SECOND_MS;
const RUN_LOOK_MS = 10;
/** Two readings of a drift check are at least five minutes apart. */
const DRIFT_APART_MS = 6 * MINUTE_MS;

/** Trouble is over: the world goes on, with its crons and one round of every check, until nothing is left to do. */
export async function settleDown(scene: Scene): Promise<void> {
  const { world } = scene;
  const { machine } = world.server;
  world.endTrouble();
  for (let waitedMs = 0; world.courier.underWay > 0; waitedMs += SECOND_MS) {
    check(
      waitedMs < COURIER_MS_MAX,
      "webhooks arrive in the end",
      () => `${world.courier.underWay} are under way`,
    );
    await machine.sleep(SECOND_MS);
  }
  await machine.sleep(2 * MINUTE_MS);
  await letWait(world, 2);
  await operate(world, "drift:check");
  world.clock.step(DRIFT_APART_MS);
  await machine.sleep(30 * SECOND_MS);
  await operate(world, "drift:check");
  for (const { customer, keyHash } of scene.actors) {
    if (customer !== null) await world.server.call("action", "limits:refreshNow", {}, callerOf(customer));
    await world.server.as(keyHash).mutation("credits:ensure");
  }
  // What a repair set off has its own waits.
  await letWait(world, 2);
  checkReporter(scene);
  await operate(world, "ops:reconcile");
  await machine.sleep(2 * MINUTE_MS);
  await operate(world, "ops:reconcile");
  await machine.sleep(10 * SECOND_MS);
  await awaitRuns(world);
}

/**
 * Workers begin by the clock, so one or the other may be at it whenever somebody looks. Resolves at an instant at which
 * none is; a run that lasts too long for a world without trouble is one that never ends.
 */
export async function awaitRuns({ checks, clock, server }: World): Promise<void> {
  for (;;) {
    const underWay = [...checks.mirror.rows("runs").values()].filter(({ status }) => status === "running");
    if (underWay.length === 0) return;
    for (const run of underWay) {
      check(
        clock.nowMs() - (run["lastStartedAtMs"] as number) < RUN_MS_MAX,
        "in the end every run that began has ended",
        () => JSON.stringify(run),
      );
    }
    await server.machine.sleep(RUN_LOOK_MS);
  }
}

/** Everything that waits for a time has its turn. */
async function letWait({ clock, server }: World, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    clock.step(OLD_MS);
    await server.machine.sleep(MINUTE_MS + 10 * SECOND_MS);
  }
}
