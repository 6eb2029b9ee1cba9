/** What accounts do beside jobs and clicks. */
import type { Chance } from "./chance.ts";
import type { Scene } from "./perform.ts";
import type { Step } from "./steps.ts";

const REMINDER_DUE_MS_MAX = 120_000;

export async function changeLink({ world, actors }: Scene, chance: Chance): Promise<void> {
  const actor = chance.pick(actors);
  const { linkId } = chance.pick(actor.links);
  const change = chance.pick([{ isActive: false }, { isActive: true }, { capUnits: 40 }, { capUnits: null }]);
  await world.server.as(actor.keyHash).mutation("links:update", { linkId, ...change });
  world.trace.note(`link of ${actor.name}: ${JSON.stringify(change)}`);
}

interface Created {
  readonly kind: string;
  readonly reminder?: { readonly id: string };
}

/** Asks for a reminder, or takes one back. */
export async function remind({ world, actors, reminders }: Scene, step: Step, chance: Chance): Promise<void> {
  if (reminders.length > 0 && chance.strikes(0.3)) {
    const { tenant, reminderId } = chance.pick(reminders);
    const answer = await world.server
      .as(tenant.keyHash)
      .mutation<{ kind: string }>("reminders:cancel", { reminderId });
    world.trace.note(`reminder of ${tenant.name} cancelled: ${answer?.kind ?? "unanswered"}`);
    return;
  }
  const tenant = chance.pick(actors);
  const dueAtMs = Math.floor(world.clock.nowMs()) + 1_000 + chance.below(REMINDER_DUE_MS_MAX);
  for (let index = chance.between(1, 4); index > 0; index -= 1) {
    const args = { key: `reminder-${step.number}-${index}`, text: "look", dueAtMs };
    const answer = await world.server.as(tenant.keyHash).mutation<Created>("reminders:create", args);
    world.trace.note(`reminder of ${tenant.name}: ${answer?.kind ?? "unanswered"}`);
    if (answer?.reminder !== undefined) reminders.push({ tenant, reminderId: answer.reminder.id });
  }
}
