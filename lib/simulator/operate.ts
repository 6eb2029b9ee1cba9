/** What operators and the machines themselves do to the world. */
import { HOUR_MS } from "../shared/durations.ts";
import type { Chance } from "./chance.ts";
import type { Row } from "./mirror.ts";
import type { Scene } from "./perform.ts";
import { OPERATOR_KEY_HASH } from "./server.ts";
import type { World } from "./world.ts";

const RESTART_MS_MAX = 4_000;
const CLOCK_STEP_MS_MAX = 40_000;
/** What a time server takes back at once; it slows the clock for less, and asks a person for more. */
const CLOCK_BACK_MS_MAX = 2_000;

export async function operate(world: World, path: string, args: object = {}): Promise<void> {
  const answer = await world.server.as(OPERATOR_KEY_HASH).action<{ counts?: object }>(path, args);
  world.trace.note(`${path} ${JSON.stringify(answer?.counts ?? answer)}`);
}

/** One account, most of the time. */
export async function reconcile({ world, actors }: Scene, chance: Chance): Promise<void> {
  const args = chance.strikes(0.85) ? { accountId: chance.pick(actors).accountId } : {};
  await operate(world, "ops:reconcile", args);
}

export async function changeLimit({ world, actors }: Scene, chance: Chance): Promise<void> {
  const { accountId, name } = chance.pick(actors.filter(({ customer }) => customer === null));
  const limitUnits = chance.pick([null, 0, 3_000, 10_000, 25_000]);
  await world.server.as(OPERATOR_KEY_HASH).mutation("accounts:setLimit", { accountId, limitUnits });
  world.trace.note(`limit of ${name} is ${limitUnits}`);
}

interface ReviewRow extends Row {
  readonly kind: string;
  readonly late: { readonly sentUnits: number; readonly maybeSentUnits: number | null } | null;
}

export async function decideReview(world: World, chance: Chance): Promise<void> {
  const open = [...world.checks.mirror.rows("reviews").values()].filter(({ status }) => status === "open");
  if (open.length === 0) return;
  const { _id: reviewId, late, kind } = chance.pick(open) as ReviewRow;
  const decision = late === null ? "accept" : chance.pick(["carry_over", "write_off", "accept"]);
  const billed = late === null ? {} : { billedUnits: late.sentUnits };
  const args = { reviewId, decision, note: "seen", ...billed };
  const answer = await world.server.as(OPERATOR_KEY_HASH).mutation<{ kind: string }>("reviews:decide", args);
  world.trace.note(`review ${kind} ${decision} ${answer?.kind ?? "unanswered"}`);
}

export async function replayEvent(world: World, chance: Chance): Promise<void> {
  const events = [...world.checks.mirror.rows("inboxEvents").values()];
  if (events.length === 0) return;
  const { _id: id } = chance.pick(events);
  const answer = await world.server
    .as(OPERATOR_KEY_HASH)
    .mutation<{ kind: string }>("inboxEvents:replayAny", { id });
  world.trace.note(`event replayed: ${answer?.kind ?? "unanswered"}`);
}

/** The time of day is set: forward by a little or over an hour's sleep of the machine, or back by a moment. */
export async function stepClock(world: World, chance: Chance): Promise<void> {
  const way = chance.weighted({ little: 6, hour: 2, back: 2 });
  const ms =
    way === "back"
      ? -chance.between(1, CLOCK_BACK_MS_MAX)
      : chance.below(way === "hour" ? HOUR_MS : CLOCK_STEP_MS_MAX);
  world.trace.note(`clock steps ${ms}`);
  world.clock.step(ms);
}

export async function crashEngine(world: World, chance: Chance): Promise<void> {
  if (!world.deployment.isUp) return;
  world.trace.note("engine crashes");
  world.deployment.crash();
  await world.server.machine.sleep(chance.below(RESTART_MS_MAX));
  await world.deployment.start();
  world.trace.note("engine is back");
}
