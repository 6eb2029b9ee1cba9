import { stream } from "convex-helpers/server/stream";
import { v } from "convex/values";

import { isTrouble } from "../lib/ledger/standing";
import type { Doc, Id } from "./_generated/dataModel";
import { accountsNamed } from "./exactIds";
import { operatorQuery } from "./functions";
import { type MeterStanding, meterStandingValidator, metersOf } from "./meterStandings";
import { hasPart, nextCursor } from "./rows";
import { findRun } from "./runs";
import schema from "./schema";

/** Reconciliation as its screen shows it: accounts with their meters, and the runs. */

const PAGE = 10;
/**
 * A page looks through this many accounts at most; one with a filter may be short and still have a next one. Each may
 * have six meters of 64 counters, and a query reads 32,000 rows at most.
 */
const ACCOUNTS_READ_MAX = 50;
const RUNS_SHOWN = 10;
/** Accounts that are counted for the progress of a run; with more the share is not told. */
const ACCOUNTS_COUNTED_MAX = 2_000;

const accountFields = { id: v.string(), name: v.string(), email: v.union(v.string(), v.null()) };
const accountValidator = v.object({ ...accountFields, meters: v.array(meterStandingValidator) });

/** Accounts that have a meter, the newest first. */
export const accounts = operatorQuery({
  args: {
    /** `trouble`: somebody should look at it. `unproven`: not read since the ledger went on. */
    only: v.optional(v.union(v.literal("trouble"), v.literal("unproven"), v.literal("repaired"))),
    /** Part of the name or the email, whatever its case; or what names an account exactly (exactIds.ts). */
    text: v.optional(v.string()),
    cursor: v.union(v.string(), v.null()),
  },
  returns: v.object({ accounts: v.array(accountValidator), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { only, text, cursor }) => {
    const nowMs = Date.now();
    const wantedMeters = async (id: Id<"accounts">) =>
      (await metersOf(ctx, id, nowMs)).filter((meter) => isWanted(meter, only));
    const named = await accountsNamed(ctx, text);
    if (named.length > 0) {
      const shown = [];
      for (const { _id: id, name, email } of named) {
        const meters = await wantedMeters(id);
        if (meters.length > 0) shown.push({ id, name, email, meters });
      }
      return { accounts: shown, cursor: null };
    }
    const found = new Map<Id<"accounts">, MeterStanding[]>();
    const rows = stream(ctx.db, schema)
      .query("accounts")
      .withIndex("by_throw_away", (q) => q.eq("isThrowAway", undefined))
      .order("desc")
      .filterWith(async (account) => {
        if (account.source === "lab" || !hasPart([account.name, account.email], text)) return false;
        const meters = await wantedMeters(account._id);
        found.set(account._id, meters);
        return meters.length > 0;
      });
    const page = await rows.paginate({ cursor, numItems: PAGE, maximumRowsRead: ACCOUNTS_READ_MAX });
    return {
      accounts: page.page.map(({ _id: id, name, email }) => ({
        id,
        name,
        email,
        meters: found.get(id) ?? [],
      })),
      cursor: nextCursor(page),
    };
  },
});

function isWanted(
  { standing }: MeterStanding,
  only: "trouble" | "unproven" | "repaired" | undefined,
): boolean {
  if (only === undefined) return true;
  if (only === "trouble") return isTrouble(standing);
  if (only === "repaired") return standing === "repaired";
  return standing === "confirmed" || standing === "on_its_way";
}

/** One account with its meters; null when there is none. */
export const account = operatorQuery({
  args: { accountId: v.string() },
  returns: v.union(accountValidator, v.null()),
  handler: async (ctx, { accountId }) => {
    const id = ctx.db.normalizeId("accounts", accountId);
    const row = id === null ? null : await ctx.db.get(id);
    if (row === null) return null;
    const { name, email } = row;
    return { id: row._id, name, email, meters: await metersOf(ctx, row._id, Date.now()) };
  },
});

const countsValidator = v.record(v.string(), v.number());

/** The run under way, if there is one, and how the last ones ended, the newest first. */
export const runs = operatorQuery({
  args: { name: v.union(v.literal("reconciler"), v.literal("drift"), v.literal("audit")) },
  returns: v.object({
    running: v.union(
      v.object({ startedAtMs: v.number(), progressAtMs: v.number(), counts: countsValidator }),
      v.null(),
    ),
    lastGoodAtMs: v.union(v.number(), v.null()),
    ended: v.array(
      v.object({
        id: v.string(),
        status: v.union(v.literal("good"), v.literal("failed")),
        startedAtMs: v.number(),
        finishedAtMs: v.number(),
        counts: countsValidator,
      }),
    ),
  }),
  handler: async (ctx, { name }) => {
    const row = await findRun(ctx, name);
    const ended = await ctx.db
      .query("runHistory")
      .withIndex("by_name", (q) => q.eq("name", name))
      .order("desc")
      .take(RUNS_SHOWN);
    return {
      running: row?.status === "running" ? progressOf(row) : null,
      lastGoodAtMs: row?.lastGoodAtMs ?? null,
      ended: ended.map(({ _id: id, status, startedAtMs, finishedAtMs, counts }) => {
        return { id, status, startedAtMs, finishedAtMs, counts };
      }),
    };
  },
});

function progressOf({ lastStartedAtMs: startedAtMs, progressAtMs = startedAtMs, counts }: Doc<"runs">) {
  return { startedAtMs, progressAtMs, counts };
}

/** How many accounts a whole run goes through; null for more than are counted here. */
export const accountCount = operatorQuery({
  args: {},
  returns: v.union(v.number(), v.null()),
  handler: async (ctx) => {
    const rows = await ctx.db
      .query("accounts")
      .withIndex("by_throw_away", (q) => q.eq("isThrowAway", undefined))
      .take(ACCOUNTS_COUNTED_MAX + 1);
    return rows.length > ACCOUNTS_COUNTED_MAX ? null : rows.filter(({ source }) => source !== "lab").length;
  },
});
