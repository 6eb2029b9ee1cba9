import { z } from "zod";
import { EVENT_TYPES } from "./webhooks-types.ts";

/** Faults that replace the answer of the endpoint, or what becomes of it on the wire. The first that strikes wins. */
export const ENDING_FAULTS = [
  "rate_limited",
  "rate_limited_without_reset",
  "status_500",
  "status_502",
  "status_503",
  "unauthorized",
  "forbidden",
  "timeout",
  "lost_reply",
  "late_write",
  "malformed_json",
] as const;

/** Faults that happen before the endpoint answers as usual. */
export const PASSING_FAULTS = ["slow", "key_rotation"] as const;

/** Faults in what an endpoint says or does. Those that mean nothing to an endpoint change nothing there. */
export const SHAPE_FAULTS = [
  "unlimited_null",
  "unlimited_missing",
  "unlimited_max_int",
  "empty_entitlements",
  "two_digit_offset",
  "already_exists",
  "second_writer",
] as const;

/** Faults on the way of a webhook, asked for once, before its first attempt. */
export const WEBHOOK_WAY_FAULTS = ["webhook_loss", "webhook_delay", "webhook_reorder"] as const;

/** Faults in an attempt to deliver a webhook. */
export const WEBHOOK_ATTEMPT_FAULTS = [
  "webhook_duplicate",
  "webhook_bad_signature",
  "webhook_unknown_kid",
  "webhook_missing_iss",
  "webhook_own_iss",
  "webhook_foreign_iss",
  "webhook_key_rotation",
  "webhook_outage",
] as const;

export type WebhookAttemptFault = (typeof WEBHOOK_ATTEMPT_FAULTS)[number];
export type EndingFault = (typeof ENDING_FAULTS)[number];
export type PassingFault = (typeof PASSING_FAULTS)[number];
export type ShapeFault = (typeof SHAPE_FAULTS)[number];

const DAY_MS_MAX = 86_400_000;
const ms = z.int().min(0).max(DAY_MS_MAX);

/** "POST /api/v1/billing/meter_usage", "/api/v1/billing/*" or "*"; of a webhook, the path that it goes to. */
const endpoint = z
  .string()
  .regex(
    /^(?:(?:GET|POST|PATCH|DELETE) )?(?:\*|\/[^\s*]*\*?)$/,
    "must be [METHOD ]/path, with * at the end for all below",
  )
  .refine((text) => !/\/control/.test(text), "cannot be the control API");

/** The body of POST /control/faults. Without `count` and `durationMs` it lasts until it is removed. */
export const newFault = z.strictObject({
  endpoint,
  fault: z.enum([
    ...ENDING_FAULTS,
    ...PASSING_FAULTS,
    ...SHAPE_FAULTS,
    ...WEBHOOK_WAY_FAULTS,
    ...WEBHOOK_ATTEMPT_FAULTS,
  ]),
  /** webhook_*: strikes these types only; without it, all. */
  eventTypes: z.array(z.enum(EVENT_TYPES)).min(1).optional(),
  /** How many times it strikes. */
  count: z.int().min(1).max(1_000_000).optional(),
  /** How long it is there, in real time. */
  durationMs: ms.min(1).optional(),
  /** The chance that it strikes a request it fits. The same seed gives the same sequence of hits and misses. */
  probability: z.number().gt(0).max(1).default(1),
  seed: z.int().min(0).max(0xffff_ffff).default(1),
  /** rate_limited: the seconds in RateLimit-Reset. */
  resetSeconds: z.int().min(0).max(86_400).default(1),
  /**
   * slow: how long the answer is held back. webhook_delay: how long before the first attempt, by the delivery clock;
   * webhook_reorder: at most, each for another while.
   */
  delayMs: ms.default(2_000),
  /** late_write: how long after the lost connection the write lands. */
  lateMs: ms.default(30_000),
  /** second_writer: what the other writer adds right after this write. */
  deltaUnits: z.int().min(-1_000_000_000).max(1_000_000_000).default(7),
  /** webhook_duplicate: how many more of it are sent at the same time. */
  copies: z.int().min(1).max(20).default(1),
  /** key_rotation, webhook_key_rotation: whether tokens of the old keys stop to verify. */
  retireOld: z.boolean().default(false),
});

export type FaultSettings = z.output<typeof newFault>;

/** The shape faults that struck a request, each with its settings. */
export type ShapeFaults = ReadonlyMap<ShapeFault, FaultSettings>;
