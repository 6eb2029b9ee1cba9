// Billing events: told by hand and by plan changes at the provider, which signs, sends and sends again by itself.
import type { Chance } from "../../lib/simulator/chance.ts";
import { type Load, pause } from "./client.ts";
import type { Cast } from "./open.ts";

const TOLD = ["payment_succeeded", "payment_failed", "invoice_overdue"] as const;
const PLANS = ["customer_free_plan", "customer_starter_plan", "customer_pro_plan"] as const;
const CHANGES_PLAN = 0.2;
const PAUSE_MS_MAX = 400;

/** Each request is sent once: the provider's control has no key under which it could be repeated. */
export async function makeEvents(
  load: Load,
  chance: Chance,
  cast: Cast,
  control: { url: string; key: string },
) {
  const headers = { authorization: `Bearer ${control.key}` };
  const post = (path: string, body: object) =>
    load.wire.send({ method: "POST", url: `${control.url}/control/users/${path}`, headers, body });
  while (!load.stopping.aborted) {
    if (chance.strikes(CHANGES_PLAN)) {
      const userId = cast.changingUserId;
      const planKey = chance.pick(PLANS);
      const reply = await post(`${userId}/plan`, { planKey });
      const answered = reply.kind === "answered" && reply.status === 200;
      if (reply.kind !== "not_sent") load.journal.plans.push({ userId, planKey, answered });
    } else {
      const note = {
        userId: chance.pick(cast.userIds),
        type: chance.pick(TOLD),
        eventId: null as string | null,
      };
      load.journal.events.push(note);
      const reply = await post(`${note.userId}/events`, { type: note.type });
      const eventId = reply.kind === "answered" && reply.status === 201 ? reply.body?.["eventId"] : null;
      if (typeof eventId === "string") note.eventId = eventId;
    }
    await pause(load, chance.below(PAUSE_MS_MAX));
  }
}
