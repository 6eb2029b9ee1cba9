import type { Chance } from "./chance.ts";
import { recordClicks, type Link } from "./clicks.ts";
import { admit, liveJob, type JobRequest, type Tenant } from "./job-life.ts";
import {
  changeLimit,
  crashEngine,
  decideReview,
  operate,
  reconcile,
  replayEvent,
  stepClock,
} from "./operate.ts";
import { comeBack, changePlan, pay, writeBesideUs } from "./customer-acts.ts";
import { changeLink, remind } from "./tenant-acts.ts";
import type { Step } from "./steps.ts";
import type { Customer } from "./provider.ts";
import { check } from "./violation.ts";
import type { World } from "./world.ts";

/** An account as the steps know it. */
export interface Actor extends Tenant {
  readonly links: readonly Link[];
  /** Null for an account whose limit an operator sets. */
  readonly customer: Customer | null;
}

/** What a step finds when its time comes. */
export interface Scene {
  readonly world: World;
  readonly actors: readonly Actor[];
  readonly requests: { readonly tenant: Tenant; readonly request: JobRequest }[];
  /** Reminders that somebody asked for, by tenant. */
  readonly reminders: { readonly tenant: Tenant; readonly reminderId: string }[];
}

/** Resolves when the step has come to its end, which may be long after the next one began. */
export async function perform(scene: Scene, step: Step): Promise<void> {
  const { world } = scene;
  const chance = world.chance.fork(`step ${step.number}`);
  switch (step.what) {
    case "job":
      return job(scene, chance.pick(scene.actors), `job-${step.number}`, chance);
    case "job_burst":
      return jobBurst(scene, step, chance);
    case "job_again":
      return jobAgain(scene, chance);
    case "clicks":
      return recordClicks(world, chance.pick(chance.pick(scene.actors).links), step.number, chance);
    case "link_change":
      return changeLink(scene, chance);
    case "reminder":
      return remind(scene, step, chance);
    case "plan_change":
      return changePlan(scene, chance);
    case "payment":
      return pay(scene, chance);
    case "come_back":
      return comeBack(scene, chance);
    case "second_writer":
      return writeBesideUs(scene, chance);
    case "limit_change":
      return changeLimit(scene, chance);
    case "decide":
      return decideReview(world, chance);
    case "replay":
      return replayEvent(world, chance);
    case "clock_step":
      return stepClock(world, chance);
    case "engine_crash":
      return crashEngine(world, chance);
    case "reconcile":
      return reconcile(scene, chance);
    case "drift_check":
      return operate(world, "drift:check");
    case "report":
    case "sweep":
    case "audit":
      return operate(world, `ops:${step.what}`);
  }
}

async function job(scene: Scene, tenant: Tenant, key: string, chance: Chance): Promise<void> {
  const { world } = scene;
  const units = chance.strikes(0.2) ? chance.between(1, 9_000) : chance.between(1, 1_500);
  const request = {
    key,
    units,
    leaseMs: chance.between(10, 120) * 1_000,
    ...(chance.strikes(0.3) ? { acceptUnits: Math.ceil(units / 3) } : {}),
  };
  scene.requests.push({ tenant, request });
  await liveJob(world, tenant, request, chance);
}

const BURST_MAX = 10;

async function jobBurst(scene: Scene, step: Step, chance: Chance): Promise<void> {
  const tenant = chance.pick(scene.actors);
  const keys = Array.from(
    { length: chance.between(3, BURST_MAX) },
    (_, index) => `job-${step.number}-${index}`,
  );
  await Promise.all(keys.map((key) => job(scene, tenant, key, chance.fork(key))));
}

async function jobAgain({ world, requests }: Scene, chance: Chance): Promise<void> {
  if (requests.length === 0) return;
  const { tenant, request } = chance.pick(requests);
  const again = chance.strikes(0.4) ? { ...request, units: request.units + 1 } : request;
  const before = [...world.checks.mirror.rows("jobs").values()].find(({ key }) => key === request.key);
  const answer = await admit(world, tenant, again);
  world.trace.note(`${request.key} again with ${again.units}: ${answer?.kind ?? "unanswered"}`);
  if (before === undefined || answer === null) return;
  // What was admitted and not flushed may be gone after a crash, and then the key is free for any request.
  if (!world.checks.mirror.rows("jobs").has(before._id)) return;
  const code = (answer as { refusal?: { code: string } }).refusal?.code;
  const isSame = before["requestedUnits"] === again.units;
  const isRight = isSame ? answer.job?.id === before._id : code === "key_conflict";
  const tell = (): string => `${request.key}: ${JSON.stringify(before)}, then ${JSON.stringify(answer)}`;
  check(isRight, "a key that was admitted has one answer", tell);
}
