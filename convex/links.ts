import { type Infer, v } from "convex/values";

import { checkCustomCode, randomCode, shortUrl } from "../lib/ledger/code";
import { checkLinkFields } from "../lib/ledger/link-fields";
import { HOUR_MS } from "../lib/shared/durations";
import type { FieldError } from "../lib/shared/problem";
import type { Doc, Id } from "./_generated/dataModel";
import type { MutationCtx, QueryCtx } from "./_generated/server";
import { accountMutation, accountQuery, refuse, serverQuery } from "./functions";
import { billedUnitsOf, findLinkByCode, shortLinks } from "./linkRows";
import { nextCursor } from "./rows";
import { notFoundValidator } from "./validators";

/** Short links of an account. A deleted one keeps its row, so that its code is never given again. */

const LIST_LIMIT_MAX = 100;
/** A random code is taken once in a thousand tries at ten million links. */
const CODE_TRIES_MAX = 5;
/** Rows of one answer of `stats`: a third of what a query may read. */
const STATS_ROWS_MAX = 10_000;
const STATS_SPAN_HOURS_MAX = 31 * 24;

const NOT_FOUND = { kind: "not_found" as const };

export const linkValidator = v.object({
  id: v.string(),
  code: v.string(),
  url: v.string(),
  target: v.string(),
  displayHost: v.string(),
  title: v.string(),
  capUnits: v.union(v.number(), v.null()),
  overCapTarget: v.union(v.string(), v.null()),
  isActive: v.boolean(),
  billedUnits: v.number(),
  createdAtMs: v.number(),
});
export type LinkView = Infer<typeof linkValidator>;

const invalidValidator = v.object({
  kind: v.literal("invalid"),
  errors: v.array(v.object({ path: v.string(), message: v.string() })),
});

const optionalFields = {
  title: v.optional(v.string()),
  capUnits: v.optional(v.union(v.number(), v.null())),
  overCapTarget: v.optional(v.union(v.string(), v.null())),
};

/** Makes a link. Whether its code is free is decided in this transaction, against deleted links as well. */
export const create = accountMutation({
  scope: "links:write",
  args: { target: v.string(), code: v.optional(v.string()), ...optionalFields },
  returns: v.union(
    v.object({ kind: v.literal("created"), link: linkValidator }),
    v.object({ kind: v.literal("code_taken"), code: v.string() }),
    invalidValidator,
  ),
  handler: async (ctx, { code: wanted, ...given }) => {
    const checked = checkLinkFields(given, shortLinks());
    const faults = [...codeFaults(wanted), ...(checked.kind === "refused" ? checked.errors : [])];
    if (checked.kind === "refused" || faults.length > 0) return invalid(faults);
    const code = wanted ?? (await freeCode(ctx));
    if (wanted !== undefined && (await findLinkByCode(ctx, code)) !== null) {
      return { kind: "code_taken" as const, code };
    }
    const { location = "", displayHost = "", title = "", capUnits = null } = checked.fields;
    const linkId = await ctx.db.insert("links", {
      accountId: ctx.principal.accountId,
      code,
      location,
      displayHost,
      title,
      capUnits,
      overCapLocation: checked.fields.overCapLocation ?? null,
      inactiveSinceMs: null,
      deletedAtMs: null,
      createdAtMs: Date.now(),
    });
    return { kind: "created" as const, link: await view(ctx, (await ctx.db.get(linkId))!) };
  },
});

export const list = accountQuery({
  scope: "links:read",
  args: { cursor: v.union(v.string(), v.null()), limit: v.number() },
  returns: v.object({ links: v.array(linkValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { cursor, limit }) => {
    if (!Number.isInteger(limit) || limit < 1 || limit > LIST_LIMIT_MAX) {
      refuse("invalid", `limit must be a whole number from 1 to ${LIST_LIMIT_MAX}`);
    }
    const page = await ctx.db
      .query("links")
      .withIndex("by_account", (q) => q.eq("accountId", ctx.principal.accountId).eq("deletedAtMs", null))
      .order("desc")
      .paginate({ cursor, numItems: limit });
    const links: LinkView[] = [];
    for (const link of page.page) links.push(await view(ctx, link));
    return { links, cursor: nextCursor(page) };
  },
});

export const get = accountQuery({
  scope: "links:read",
  args: { linkId: v.string() },
  returns: v.union(linkValidator, v.null()),
  handler: async (ctx, { linkId }) => {
    const link = await findOwnLink(ctx, ctx.principal.accountId, linkId);
    return link === null ? null : await view(ctx, link);
  },
});

/** Changes what is given; null takes a cap or the second target away. The code never changes. */
export const update = accountMutation({
  scope: "links:write",
  args: {
    linkId: v.string(),
    target: v.optional(v.string()),
    isActive: v.optional(v.boolean()),
    ...optionalFields,
  },
  returns: v.union(
    v.object({ kind: v.literal("updated"), link: linkValidator }),
    invalidValidator,
    notFoundValidator,
  ),
  handler: async (ctx, { linkId, isActive, ...given }) => {
    const link = await findOwnLink(ctx, ctx.principal.accountId, linkId);
    if (link === null) return NOT_FOUND;
    const checked = checkLinkFields(given, shortLinks());
    if (checked.kind === "refused") return invalid(checked.errors);
    const switched = isActive === undefined ? {} : { inactiveSinceMs: inactiveSince(link, isActive) };
    await ctx.db.patch(link._id, { ...checked.fields, ...switched });
    return { kind: "updated" as const, link: await view(ctx, (await ctx.db.get(link._id))!) };
  },
});

/** Ends a link for good. Its row, its clicks and its code stay. */
export const remove = accountMutation({
  scope: "links:write",
  args: { linkId: v.string() },
  returns: v.union(v.object({ kind: v.literal("removed") }), notFoundValidator),
  handler: async (ctx, { linkId }) => {
    const link = await findOwnLink(ctx, ctx.principal.accountId, linkId);
    if (link === null) return NOT_FOUND;
    const nowMs = Date.now();
    await ctx.db.patch(link._id, { deletedAtMs: nowMs, inactiveSinceMs: link.inactiveSinceMs ?? nowMs });
    return { kind: "removed" as const };
  },
});

/**
 * Clicks by hour (UTC) and class, from the hour of `fromMs` up to but not including `untilMs`, hours without a click
 * left out. Of a span that needs too many rows the first hours are answered, and `nextFromMs` says where to go on.
 */
export const stats = accountQuery({
  scope: "links:read",
  args: { linkId: v.string(), fromMs: v.number(), untilMs: v.number() },
  returns: v.union(
    v.object({
      kind: v.literal("read"),
      hours: v.array(v.object({ hourMs: v.number(), clicks: v.record(v.string(), v.number()) })),
      nextFromMs: v.union(v.number(), v.null()),
    }),
    invalidValidator,
    notFoundValidator,
  ),
  handler: async (ctx, { linkId, fromMs, untilMs }) => {
    const link = await findOwnLink(ctx, ctx.principal.accountId, linkId);
    if (link === null) return NOT_FOUND;
    const fromHourMs = Math.floor(fromMs / HOUR_MS) * HOUR_MS;
    if (!(untilMs > fromMs && untilMs - fromHourMs <= STATS_SPAN_HOURS_MAX * HOUR_MS)) {
      const message = `fromMs must be before untilMs, by ${STATS_SPAN_HOURS_MAX} hours at most`;
      return invalid([{ path: "fromMs", message }]);
    }
    const rows = await ctx.db
      .query("linkStats")
      .withIndex("by_link_hour", (q) =>
        q.eq("linkId", link._id).gte("hourMs", fromHourMs).lt("hourMs", untilMs),
      )
      .take(STATS_ROWS_MAX + 1);
    // The last hour may not be complete: it opens the next answer. One hour has far fewer rows than an answer.
    const nextFromMs = rows.length > STATS_ROWS_MAX ? rows[STATS_ROWS_MAX]!.hourMs : null;
    const whole = nextFromMs === null ? rows : rows.filter(({ hourMs }) => hourMs < nextFromMs);
    return { kind: "read" as const, hours: byHour(whole), nextFromMs };
  },
});

/** What a redirect needs to know of a code; null for one that nobody ever had. */
export const resolve = serverQuery({
  args: { code: v.string() },
  returns: v.union(
    v.object({
      linkId: v.string(),
      accountId: v.string(),
      location: v.string(),
      isActive: v.boolean(),
      isOverCap: v.boolean(),
      overCapLocation: v.union(v.string(), v.null()),
    }),
    v.null(),
  ),
  handler: async (ctx, { code }) => {
    const link = await findLinkByCode(ctx, code);
    if (link === null) return null;
    const { _id: linkId, accountId, location, capUnits, overCapLocation } = link;
    const isOverCap = capUnits !== null && (await billedUnitsOf(ctx, linkId)) >= capUnits;
    return { linkId, accountId, location, isActive: isActive(link), isOverCap, overCapLocation };
  },
});

function invalid(errors: readonly FieldError[]) {
  return { kind: "invalid" as const, errors: [...errors] };
}

function codeFaults(wanted: string | undefined): FieldError[] {
  if (wanted === undefined) return [];
  const checked = checkCustomCode(wanted);
  return checked.kind === "ok" ? [] : [{ path: "code", message: `code ${checked.message}` }];
}

async function freeCode(ctx: MutationCtx): Promise<string> {
  for (let tries = 0; tries < CODE_TRIES_MAX; tries++) {
    const code = randomCode((count) => crypto.getRandomValues(new Uint8Array(count)));
    if ((await findLinkByCode(ctx, code)) === null) return code;
  }
  throw new Error(`${CODE_TRIES_MAX} random codes were all taken`);
}

/** A link by the id a caller sent, only when it belongs to the account and is not deleted. */
async function findOwnLink(
  ctx: Pick<QueryCtx, "db">,
  accountId: Id<"accounts">,
  linkId: string,
): Promise<Doc<"links"> | null> {
  const id = ctx.db.normalizeId("links", linkId);
  const link = id === null ? null : await ctx.db.get(id);
  return link?.accountId === accountId && link.deletedAtMs === null ? link : null;
}

function isActive({ inactiveSinceMs }: Doc<"links">): boolean {
  return inactiveSinceMs === null;
}

/** Disabling twice keeps the first instant. */
function inactiveSince(link: Doc<"links">, shallBeActive: boolean): number | null {
  return shallBeActive ? null : (link.inactiveSinceMs ?? Date.now());
}

export async function view(ctx: Pick<QueryCtx, "db">, link: Doc<"links">): Promise<LinkView> {
  const { _id: id, code, location, displayHost, title, capUnits, overCapLocation, createdAtMs } = link;
  return {
    id,
    code,
    url: shortUrl(shortLinks().baseUrl, code),
    target: location,
    displayHost,
    title,
    capUnits,
    overCapTarget: overCapLocation,
    isActive: isActive(link),
    billedUnits: await billedUnitsOf(ctx, id),
    createdAtMs,
  };
}

/** Rows come by hour, then class, then shard. */
function byHour(rows: readonly Doc<"linkStats">[]) {
  const hours: { hourMs: number; clicks: Record<string, number> }[] = [];
  for (const { hourMs, class: clickClass, count } of rows) {
    let hour = hours.at(-1);
    if (hour?.hourMs !== hourMs) {
      hour = { hourMs, clicks: {} };
      hours.push(hour);
    }
    hour.clicks[clickClass] = (hour.clicks[clickClass] ?? 0) + count;
  }
  return hours;
}
