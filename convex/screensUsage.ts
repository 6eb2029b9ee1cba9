import { v } from "convex/values";

import { FEATURE_TOKENS } from "../lib/gate/types";
import { cycleAt } from "../lib/ledger/cycle";
import { FEATURE_CLICKS } from "../lib/ledger/meter";
import { DAY_MS } from "../lib/shared/durations";
import { accountQuery } from "./functions";
import { findAgreement, ledgerSumOf, reportStateOf } from "./meterState";
import { meterProofValidator, proofOf } from "./meterStandings";

/** Usage over a cycle, for its chart, and the meters that it is billed by. */

/** Of one feature and cycle; each change of the agreement makes one more. */
const METERS_MAX = 20;

/** A third of what a query may read. Of a span with more rows the first ones are answered. */
const ROWS_MAX = 5_000;

/**
 * Days are of 24 hours from the start of the cycle. Asked for by spans, because those that are over hardly ever change:
 * a chart that is open reads them once, and at each settled job only the day under way.
 */
export const byDay = accountQuery({
  scope: "usage:read",
  args: {
    cycle: v.object({ name: v.string(), startMs: v.number() }),
    fromDay: v.number(),
    /** The first day that is not asked for any more; null for all that come. */
    untilDay: v.union(v.number(), v.null()),
  },
  returns: v.object({
    /** Units that were settled; days without any are left out. */
    days: v.array(v.object({ day: v.number(), units: v.number() })),
    /** Whether the span has more rows than one answer may read. */
    isCut: v.boolean(),
  }),
  handler: async (ctx, { cycle: { name, startMs }, fromDay, untilDay }) => {
    const { accountId } = ctx.principal;
    const untilMs = untilDay === null ? Infinity : startMs + untilDay * DAY_MS;
    const rows = await ctx.db
      .query("entries")
      .withIndex("by_account_feature_cycle", (q) =>
        q
          .eq("accountId", accountId)
          .eq("feature", FEATURE_TOKENS)
          .eq("cycle", name)
          .gte("atMs", startMs + fromDay * DAY_MS)
          .lt("atMs", untilMs),
      )
      .take(ROWS_MAX);
    const days = new Map<number, number>();
    for (const { atMs, units } of rows) {
      const day = Math.floor((atMs - startMs) / DAY_MS);
      days.set(day, (days.get(day) ?? 0) + units);
    }
    return { days: [...days].map(([day, units]) => ({ day, units })), isCut: rows.length === ROWS_MAX };
  },
});

/**
 * The meters of the cycle under way, clicks first: the ledger's total, the last total sent, and what a reading of the
 * provider's meter has proven of it. The account has none for a feature of which nothing was counted.
 */
export const meters = accountQuery({
  scope: "usage:read",
  args: {
    /** The end of the cycle as the caller knew it, once it has passed: nothing else makes a live query run again. */
    afterMs: v.optional(v.number()),
  },
  returns: v.object({
    cycle: v.object({ name: v.string(), endMs: v.number() }),
    meters: v.array(
      v.object({
        id: v.string(),
        feature: v.string(),
        /** Null without an agreement, or with one whose plan is not known. */
        planKey: v.union(v.string(), v.null()),
        ledgerUnits: v.number(),
        sent: v.union(v.object({ totalUnits: v.number(), atMs: v.number() }), v.null()),
        ...meterProofValidator.fields,
      }),
    ),
  }),
  handler: async (ctx) => {
    const { account, accountId } = ctx.principal;
    const { name, endMs } = cycleAt(account.cycleAnchorMs, Date.now());
    const shown = [];
    for (const feature of [FEATURE_CLICKS, FEATURE_TOKENS]) {
      const rows = await ctx.db
        .query("meters")
        .withIndex("by_account_feature_cycle", (q) =>
          q.eq("accountId", accountId).eq("feature", feature).eq("cycle", name),
        )
        .take(METERS_MAX);
      for (const meter of rows) {
        const { _id: id, agreementId } = meter;
        const ledgerUnits = Number(await ledgerSumOf(ctx, id));
        const proof = await proofOf(ctx, meter, ledgerUnits);
        const agreement = agreementId === null ? null : await findAgreement(ctx, agreementId);
        // What an account without a customer there has is a copy of ours, to which nothing is sent.
        const sent = proof.isAtProvider ? (await reportStateOf(ctx, id)).confirmed : null;
        shown.push({ id, feature, planKey: agreement?.planKey ?? null, ledgerUnits, sent, ...proof });
      }
    }
    return { cycle: { name, endMs }, meters: shown };
  },
});
