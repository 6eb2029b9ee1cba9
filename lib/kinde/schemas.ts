import { z } from "zod";

import { UNITS_MAX } from "../shared/units.ts";
import { failure, type Failure } from "./failure.ts";
import { parseInstantMs } from "./instant.ts";

/*
 * The answers of Kinde as far as they are used. Strict about what a decision hangs on, tolerant where public sources
 * disagree (facts §2, "UNSURE"). Fields that are not named here are ignored, prices with odd decimals among them.
 */

/** What a third party saw in place of null for a feature without a maximum (facts §2.1). */
const UNLIMITED_MARK = 2_147_483_647;

const name = z.string().min(1);

const instantMs = z.string().transform((text, ctx) => {
  const ms = parseInstantMs(text);
  if (ms === null) ctx.addIssue({ code: "custom", message: "not an instant" });
  return ms ?? z.NEVER;
});

const optionalInstantMs = instantMs.nullish().transform((ms) => ms ?? null);

const limitMaximum = z
  .int()
  .min(0)
  .max(UNITS_MAX)
  .nullish()
  .transform((max) => (max === undefined || max === UNLIMITED_MARK ? null : max));

/** A total of a meter. The write takes a string and the read is undocumented, so a number is read as well. */
const totalUnits = z
  .union([z.string().regex(/^\d{1,16}(\.0+)?$/), z.number()])
  .transform(Number)
  .pipe(z.int().min(0).max(UNITS_MAX));

/** A value of one record. A delta of another sender may be negative or broken; only totals are ours to judge. */
const recordValue = z.union([z.string(), z.number()]).transform(String);

/** Go services write an empty list as null now and then. A list that is not there at all is not an empty one. */
function list<Item extends z.ZodType>(item: Item) {
  return z
    .array(item)
    .nullable()
    .transform((items) => items ?? []);
}

/** `key` is always the Key an admin chose; `code` is the management API's word, said to hold the Key as well. */
function keyOrCode(ctx: z.RefinementCtx, field: string, key?: string | null, code?: string | null): string {
  const found = key ?? code;
  if (found !== undefined && found !== null) return found;
  ctx.addIssue({ code: "custom", message: "neither key nor code", path: [field] });
  return z.NEVER;
}

const plan = z
  .object({ key: name.nullish(), code: name.nullish(), subscribed_on: optionalInstantMs })
  .transform((row, ctx) => ({
    key: keyOrCode(ctx, "code", row.key, row.code),
    subscribedAtMs: row.subscribed_on,
  }));

const entitlement = z
  .object({
    id: name,
    feature_key: name.nullish(),
    feature_code: name.nullish(),
    entitlement_limit_max: limitMaximum,
  })
  .transform((row, ctx) => ({
    id: row.id,
    featureKey: keyOrCode(ctx, "feature_code", row.feature_key, row.feature_code),
    limitUnits: row.entitlement_limit_max,
  }));

const agreement = z
  .object({ id: name, plan_key: name.nullish(), plan_code: name.nullish(), expires_on: optionalInstantMs })
  .transform((row, ctx) => ({
    id: row.id,
    planKey: keyOrCode(ctx, "plan_code", row.plan_key, row.plan_code),
    expiresAtMs: row.expires_on,
  }));

const meterRecord = z
  .object({
    id: name,
    meter_value: recordValue,
    meter_type_code: z.string().nullish(),
    meter_usage_timestamp: instantMs,
    created_on: optionalInstantMs,
    cycle_start: optionalInstantMs,
  })
  .transform((row) => ({
    id: row.id,
    value: row.meter_value,
    type: row.meter_type_code ?? null,
    usedAtMs: row.meter_usage_timestamp,
    createdAtMs: row.created_on,
    cycleStartMs: row.cycle_start,
  }));

export const tokenAnswer = z.object({
  /** Printable and without spaces: it becomes a header. */
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  /** Seconds. Kinde's pages disagree on the usual value, so there is no default for it. */
  expires_in: z.int().min(1).max(31_536_000),
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .nullish(),
});

export const entitlementsAnswer = z.object({
  plans: list(plan).optional().default([]),
  entitlements: list(entitlement),
  has_more: z.boolean(),
});

export const agreementsAnswer = z.object({ agreements: list(agreement), has_more: z.boolean() });

const webhook = z
  .object({
    id: name,
    endpoint: z.string(),
    is_disabled: z.boolean().nullish(),
    event_types: z.array(z.string()).nullish(),
  })
  .transform((row) => ({
    id: row.id,
    url: row.endpoint,
    isDisabled: row.is_disabled ?? null,
    eventTypes: row.event_types ?? null,
  }));

/** The documented answer is one page and says nothing of more. */
export const webhooksAnswer = z.object({ webhooks: list(webhook), has_more: z.boolean().nullish() });

export const userAnswer = z.object({
  id: name,
  preferred_email: z.string().nullish(),
  email: z.string().nullish(),
  billing: z.object({ customer_id: z.string().nullish() }).nullish(),
});

/** `errors` in a success would be a contradiction, which is no confirmation. */
export const acknowledgement = z.object({ errors: z.array(z.unknown()).max(0).nullish() });

export const meterAnswer = z.object({
  usage: z.object({
    current_total: totalUnits,
    records: list(meterRecord),
    has_more: z.boolean().nullish(),
  }),
});

/** The kinds of errors: a list, or an object in the 404 of the specification. OAuth errors are a plain string. */
const errorEntry = z.object({ code: z.unknown(), message: z.unknown() }).partial();
const errorAnswer = z.object({
  error: z.string().optional().catch(undefined),
  errors: z
    .union([z.array(errorEntry), errorEntry])
    .nullish()
    .catch(undefined),
});

/** Letters only and shorter than any secret or token, so that nothing but a code can pass. */
const SAFE_CODE = /^[A-Za-z][A-Za-z_]{0,38}$/;

/**
 * The code of an error answer, null when there is none that is safe to show. That a thing already exists may be said
 * in the text only; it comes out as `already_exists` then, because a writer has to know.
 */
export function readErrorCode(json: unknown): string | null {
  const parsed = errorAnswer.safeParse(json);
  if (!parsed.success) return null;
  const { error, errors } = parsed.data;
  const entries = [...(Array.isArray(errors) ? errors : [errors ?? {}]), { code: error, message: undefined }];
  const isSafe = (code: unknown): code is string => typeof code === "string" && SAFE_CODE.test(code);
  const saysExists = ({ message }: { message?: unknown }): boolean =>
    typeof message === "string" && /already exists/i.test(message);
  return entries.some(saysExists) ? "already_exists" : (entries.map(({ code }) => code).find(isSafe) ?? null);
}

/**
 * Checks the body of a success. The failure names the endpoint and the path of the first field that does not fit,
 * never its value: `bad_answer`, with `committed` as given for the case that the call was a write.
 */
export function parseAnswer<Schema extends z.ZodType>(
  schema: Schema,
  answer: { readonly endpoint: string; readonly status: number; readonly json: unknown },
  committed: Failure["committed"],
): { readonly kind: "parsed"; readonly value: z.output<Schema> } | Failure {
  const { endpoint, status, json } = answer;
  const refuse = (what: string): Failure =>
    failure({ code: "bad_answer", status, committed, message: `${endpoint}: ${what}` });
  if (json === undefined) return refuse("the answer is not JSON");
  const parsed = schema.safeParse(json);
  if (parsed.success) return { kind: "parsed", value: parsed.data };
  const path = parsed.error.issues[0]?.path.map(String).join(".") ?? "";
  return refuse(`unexpected value at ${path === "" ? "the top" : path}`);
}
