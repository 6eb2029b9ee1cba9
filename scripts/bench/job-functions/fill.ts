import { mutationGeneric } from "convex/server";
import { v } from "convex/values";

/** Adds ended jobs to the account of a real ended job: copies of it under keys of their own. */
export const jobs = mutationGeneric({
  args: { jobId: v.string(), from: v.number(), count: v.number() },
  returns: v.null(),
  handler: async (ctx, { jobId, from, count }) => {
    const id = ctx.db.normalizeId("jobs", jobId);
    const job = id === null ? null : await ctx.db.get(id);
    if (job === null) throw new Error(`job ${jobId} is missing`);
    const { _id, _creationTime, ...fields } = job;
    for (let number = from; number < from + count; number += 1) {
      await ctx.db.insert("jobs", { ...fields, key: `fill-${number}` });
    }
    return null;
  },
});
