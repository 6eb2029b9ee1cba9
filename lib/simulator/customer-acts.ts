/** What customers do at the provider, and what else happens there. */
import { SYSTEM_CALLER, type Caller } from "../local-convex/invocation.ts";
import type { Chance } from "./chance.ts";
import type { Scene } from "./perform.ts";
import type { Customer } from "./provider.ts";

const DELTA_MAX = 40;

function customersOf({ actors }: Scene): Customer[] {
  return actors.flatMap(({ customer }) => customer ?? []);
}

/** Signed in as that customer. */
export function callerOf({ userId }: Customer): Caller {
  const identity = {
    tokenIdentifier: `simulated|${userId}`,
    issuer: "simulated",
    subject: userId,
    permissions: [],
  };
  return { ...SYSTEM_CALLER, admin: false, identity };
}

export async function changePlan(scene: Scene, chance: Chance): Promise<void> {
  const { world } = scene;
  const { provider } = world;
  const customer = chance.pick(customersOf(scene));
  const before = provider.current(customer)?.planKey;
  const { key } = chance.pick(provider.catalogue.plans.filter((plan) => plan.key !== before));
  world.trace.note(`${customer.givenName} changes to ${key}`);
  provider.startAgreement(customer, key);
}

export async function pay(scene: Scene, chance: Chance): Promise<void> {
  scene.world.provider.pay(chance.pick(customersOf(scene)));
}

/** Back from the plan page, or a fresh sign-in. */
export async function comeBack(scene: Scene, chance: Chance): Promise<void> {
  const { server, trace } = scene.world;
  const customer = chance.pick(customersOf(scene));
  const path = chance.pick(["limits:refreshNow", "signIn:enter"]);
  const answer = await server.call<{ kind?: string }>("action", path, {}, callerOf(customer));
  trace.note(`${customer.givenName} ${path} ${answer?.kind ?? ""}`);
}

/** Somebody else writes to the meter. */
export async function writeBesideUs(scene: Scene, chance: Chance): Promise<void> {
  const { provider, trace } = scene.world;
  const customer = chance.pick(customersOf(scene));
  const agreement = provider.current(customer)!;
  const feature = chance.pick(["clicks", "tokens"]);
  const refusal = provider.write(agreement, feature, { units: chance.between(1, DELTA_MAX), type: "delta" });
  trace.note(`second writer at ${customer.givenName}'s ${feature}: ${refusal?.code ?? "done"}`);
}
