import { type Infer, v } from "convex/values";

/** Validators of the inbox that tables and answers share. Their TypeScript twins live in lib/inbox. */

/** "lab" accounts belong to no customer and never reach a meter; "event" ones were named by a billing event first. */
export const accountSourceValidator = v.union(
  v.literal("sign_in"),
  v.literal("event"),
  v.literal("operator"),
  v.literal("lab"),
);

export const anchorSourceValidator = v.union(
  v.literal("operator"),
  v.literal("subscription"),
  v.literal("agreement"),
  v.literal("creation"),
);

export const eventStatusValidator = v.union(
  v.literal("received"),
  v.literal("processing"),
  v.literal("applied"),
  v.literal("ignored"),
  v.literal("failed"),
  v.literal("dead"),
  v.literal("quarantined"),
);
export type EventStatusName = Infer<typeof eventStatusValidator>;

/** lib/inbox/worker.ts. */
export const progressFields = {
  status: eventStatusValidator,
  attempts: v.number(),
  fence: v.number(),
  nextAttemptAtMs: v.union(v.number(), v.null()),
  seenCount: v.number(),
  result: v.union(v.string(), v.null()),
  error: v.union(v.string(), v.null()),
  appliedAtMs: v.union(v.number(), v.null()),
};

export const deliveryFlagValidator = v.union(v.literal("webhook_id_reused"), v.literal("other_body"));

export const planFactKindValidator = v.union(
  v.literal("provider_read"),
  v.literal("agreement_cancelled"),
  v.literal("agreement_created"),
  v.literal("plan_assigned"),
  v.literal("plan_changed"),
);

export const creditReasonValidator = v.union(
  v.literal("grant"),
  v.literal("reminder"),
  v.literal("reminder_returned"),
);

/** lib/inbox/event.ts: what a verified body is. */
export const parsedBodyValidator = v.union(
  v.object({
    kind: v.literal("event"),
    eventId: v.string(),
    type: v.string(),
    occurredAtNs: v.union(v.int64(), v.null()),
  }),
  v.object({ kind: v.literal("malformed"), reason: v.string() }),
);

export const planAndBalanceValidator = v.object({ planKey: v.string(), balanceUnits: v.number() });

/** lib/inbox/scenario.ts. */
export const scenarioStepFields = {
  event: v.union(v.literal("payment"), v.literal("plan_changed"), v.literal("cancellation")),
  /** The worker stops between its two writes. */
  stops: v.boolean(),
};

/** One delivery in the Engine Room: what both sides made of it. */
export const engineRoomStepValidator = v.object({
  ...scenarioStepFields,
  naive: planAndBalanceValidator,
  pipeline: planAndBalanceValidator,
  /** Whether the delivery was a copy of a stored event. */
  isCopy: v.boolean(),
  /** Whether this delivery let the run's worker claim the event. Steps of before do not say it. */
  hasClaimed: v.optional(v.boolean()),
  /** Where the event stood afterwards, what became of it, and why it failed. */
  status: eventStatusValidator,
  result: v.union(v.string(), v.null()),
  error: v.union(v.string(), v.null()),
});
export type EngineRoomStep = Infer<typeof engineRoomStepValidator>;
