import type { Chance } from "./chance.ts";
import { liveJob, admit, type JobRequest, type Tenant } from "./job-life.ts";
import type { Step } from "./steps.ts";
import { check } from "./violation.ts";
import type { World } from "./world.ts";

const RESTART_MS_MAX = 4_000;

/** What a step finds when its time comes: the accounts, and what the steps before it left. */
export class Scene {
  readonly requests: { readonly tenant: Tenant; readonly request: JobRequest }[] = [];

  constructor(
    readonly world: World,
    readonly tenants: readonly Tenant[],
  ) {}

  /** Resolves when the step has come to its end, which may be long after the next one began. */
  async perform(step: Step): Promise<void> {
    const { world } = this;
    const chance = world.chance.fork(`step ${step.number}`);
    switch (step.what) {
      case "job":
        return this.job(step, chance);
      case "job_again":
        return this.jobAgain(chance);
      case "engine_crash":
        return this.crash(chance);
      case "sweep":
      case "audit":
        return this.operate(`ops:${step.what}`);
      default:
        return undefined;
    }
  }

  private async job(step: Step, chance: Chance): Promise<void> {
    const { world } = this;
    const tenant = chance.pick(this.tenants);
    const units = chance.strikes(0.2) ? chance.between(1, 9_000) : chance.between(1, 1_500);
    const request = {
      key: `job-${step.number}`,
      units,
      leaseMs: chance.between(10, 120) * 1_000,
      ...(chance.strikes(0.3) ? { acceptUnits: Math.ceil(units / 3) } : {}),
    };
    this.requests.push({ tenant, request });
    await liveJob(
      world.server,
      tenant,
      request,
      chance,
      () => world.clock.nowMs(),
      (text) => world.trace.note(text),
    );
  }

  private async jobAgain(chance: Chance): Promise<void> {
    const { world } = this;
    if (this.requests.length === 0) return;
    const { tenant, request } = chance.pick(this.requests);
    const isOther = chance.strikes(0.4);
    const again = isOther ? { ...request, units: request.units + 1 } : request;
    const known = () => [...world.checks.mirror.rows("jobs").values()].find(({ key }) => key === request.key);
    const before = known();
    const answer = await admit(world.server, tenant, again, () => world.clock.nowMs());
    world.trace.note(
      `${request.key} again${isOther ? " with another request" : ""}: ${answer?.kind ?? "unanswered"}`,
    );
    if (before === undefined || answer === null) return;
    const rule = "a key that was admitted has one answer";
    if (isOther) {
      const code = (answer as { refusal?: { code: string } }).refusal?.code;
      check(code === "key_conflict", rule, () => `${request.key}: ${JSON.stringify(answer)}`);
    } else check(answer.job?.id === before._id, rule, () => `${request.key}: ${JSON.stringify(answer)}`);
  }

  private async operate(path: string): Promise<void> {
    const { world } = this;
    const answer = await world.server.as(OPERATOR).action(path);
    world.trace.note(`${path} ${JSON.stringify(answer)}`);
  }

  private async crash(chance: Chance): Promise<void> {
    const { world } = this;
    if (!world.deployment.isUp) return;
    world.trace.note("engine crashes");
    world.deployment.crash();
    await world.server.machine.sleep(chance.below(RESTART_MS_MAX));
    await world.deployment.start();
    world.trace.note("engine is back");
  }
}

const OPERATOR = "0f".repeat(32);
