import { runAdmission } from "../gate/admission-loop.ts";
import type { Chance } from "./chance.ts";
import { check } from "./violation.ts";
import type { World } from "./world.ts";

export interface Tenant {
  readonly name: string;
  readonly accountId: string;
  readonly keyHash: string;
}

export interface JobRequest {
  readonly key: string;
  readonly units: number;
  readonly acceptUnits?: number;
  readonly leaseMs: number;
}

interface JobView {
  readonly id: string;
  readonly key: string;
  readonly status: string;
  readonly heldUnits: number;
  readonly usedUnits: number;
  readonly step: number;
  readonly fence: number;
}

type Answer = { readonly kind: string; readonly job?: JobView };
/** Admits to a decision, as the server does it; null when nobody answered. */
export function admit(world: World, tenant: Tenant, request: JobRequest): Promise<Answer | null> {
  return decide(world, tenant, "gate:admit", request);
}

async function decide(
  { server, clock }: World,
  tenant: Tenant,
  path: string,
  args: object,
): Promise<Answer | null> {
  const account = server.as(tenant.keyHash);
  const answer = await runAdmission<Answer>({
    attempt: async () => (await account.mutation<Answer>(path, args)) ?? { kind: "no_answer" },
    refresh: (refreshLease) => account.action("limits:refresh", { refreshLease }),
    sleep: (ms) => server.machine.sleep(ms),
    nowMs: () => clock.nowMs(),
  });
  return answer.kind === "no_answer" ? null : answer;
}

const ENDED = new Set(["lease_lost", "not_running"]);

/** A worker's way with one job. It may die at any point, which the gate only learns from its silence. */
export async function liveJob(
  world: World,
  tenant: Tenant,
  request: JobRequest,
  chance: Chance,
): Promise<void> {
  const { server, checks } = world;
  const note = (text: string): void => world.trace.note(`${request.key} ${text}`);
  const admitted = await admit(world, tenant, request);
  note(`${admitted?.kind ?? "unanswered"} ${request.units}`);
  if (admitted?.kind !== "admitted") return;
  const account = server.as(tenant.keyHash);
  const { id: jobId, fence } = admitted.job!;
  checks.promise("jobs", "_id", jobId);
  let step = 0;
  let chargedUnits = 0;
  for (let left = chance.below(6); left > 0; left -= 1) {
    await server.machine.sleep(chance.below(chance.strikes(0.2) ? request.leaseMs * 1.2 : 3_000));
    const act = chance.weighted({ charge: 10, twice: 2, extend: 2, heartbeat: 2, die: 1 });
    if (act === "die") return note(`worker dies`);
    if (act === "extend" || act === "heartbeat") {
      const units = chance.between(1, request.units);
      const answer =
        act === "extend"
          ? await decide(world, tenant, "gate:extend", { jobId, units, fence })
          : await account.mutation<Answer>("gate:heartbeat", { jobId, fence });
      note(`${act} ${answer?.kind ?? "unanswered"}`);
      if (answer !== null && ENDED.has(answer.kind)) return;
      continue;
    }
    step += 1;
    const charge = { jobId, step, units: chance.below(request.units), fence };
    const send = () =>
      account.mutation<Answer & { chargedUnits: number; capped: boolean }>("gate:charge", charge);
    const answers = act === "twice" ? await Promise.all([send(), send()]) : [await send()];
    const charged = answers.filter((answer) => answer?.kind === "charged");
    note(`step ${step} ${answers.map((answer) => answer?.kind ?? "unanswered").join(" ")}`);
    check(
      answers.every((answer) => answer?.kind !== "step_conflict"),
      "steps in their order are no conflict",
      () => `${request.key}: ${JSON.stringify(answers)}`,
    );
    if (charged.length === 0) return;
    const amounts = new Set(charged.map((answer) => answer!.chargedUnits));
    check(amounts.size === 1, "a step is charged once, and a repeat is told so", () =>
      JSON.stringify(answers),
    );
    chargedUnits += charged[0]!.chargedUnits;
    const used = charged[0]!.job!.usedUnits;
    check(
      used === chargedUnits,
      "a job has used what its steps were charged",
      () => `${request.key}: ${chargedUnits} charged, ${used} used`,
    );
    if (charged.some((answer) => answer!.capped)) return;
  }
  const outcome = chance.weighted({ completed: 6, failed: 1, cancelled: 1, die: 1 });
  if (outcome === "die") return note(`worker dies`);
  const usedUnits = chance.below(Math.ceil(request.units * 1.2));
  const settled = await account.mutation<Answer>("gate:settle", { jobId, outcome, usedUnits });
  if (settled?.kind === "settled" && settled.job!.usedUnits > 0) checks.promise("entries", "key", jobId);
  note(`settle ${settled?.kind ?? "unanswered"} ${settled?.job?.status ?? ""}`);
}
