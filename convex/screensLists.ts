import { v } from "convex/values";

import { viewJob } from "../lib/gate/job-view";
import { shortUrl } from "../lib/ledger/code";
import { accountQuery } from "./functions";
import { shortLinks } from "./linkRows";
import { linkValidator, type LinkView, view as viewLink } from "./links";
import { hasPart } from "./rows";
import { jobViewValidator } from "./validators";

/** Searches of the screens. The lists without a search are those of the API. */

const FOUND_MAX = 25;
/** Links looked through for a text, the newest first. */
const LINKS_READ_MAX = 1_000;

/** Jobs whose key begins with a text, in the order of their keys. */
export const jobs = accountQuery({
  scope: "jobs:read",
  args: { keyStart: v.string() },
  returns: v.object({ jobs: v.array(jobViewValidator), hasMore: v.boolean() }),
  handler: async (ctx, { keyStart }) => {
    const found = await ctx.db
      .query("jobs")
      .withIndex("by_account_key", (q) =>
        q.eq("accountId", ctx.principal.accountId).gte("key", keyStart).lt("key", `${keyStart}\u{10ffff}`),
      )
      .take(FOUND_MAX + 1);
    return {
      jobs: found.slice(0, FOUND_MAX).map((job) => viewJob(job._id, job)),
      hasMore: found.length > FOUND_MAX,
    };
  },
});

/** Links with a text in their code, title or target, whatever its case. `hasMore`: older ones were not looked at. */
export const links = accountQuery({
  scope: "links:read",
  args: { text: v.string() },
  returns: v.object({ links: v.array(linkValidator), hasMore: v.boolean() }),
  handler: async (ctx, { text }) => {
    const rows = ctx.db
      .query("links")
      .withIndex("by_account", (q) => q.eq("accountId", ctx.principal.accountId).eq("deletedAtMs", null))
      .order("desc");
    const found: LinkView[] = [];
    let read = 0;
    for await (const link of rows) {
      read += 1;
      if (read > LINKS_READ_MAX || found.length === FOUND_MAX) return { links: found, hasMore: true };
      const texts = [link.code, link.title, link.location, shortUrl(shortLinks().baseUrl, link.code)];
      if (hasPart(texts, text)) found.push(await viewLink(ctx, link));
    }
    return { links: found, hasMore: false };
  },
});
