import { internalMutationGeneric as internalMutation, makeFunctionReference } from "convex/server";
import { mutationGeneric as mutation } from "convex/server";
import { v } from "convex/values";

const NESTED = makeFunctionReference<"mutation">("model:nested");

const handler = async (ctx: any, { steps, fail }: { steps: any[]; fail: boolean }): Promise<unknown[]> => {
  const results: unknown[] = [];
  for (const step of steps) results.push((await runStep(ctx, step)) ?? null);
  if (fail) throw new Error("taken back");
  return results;
};

async function runStep(ctx: any, step: any): Promise<unknown> {
  switch (step.op) {
    case "insert":
      return ctx.db.insert("rows", step.row);
    case "patch":
      return (await ctx.db.get(step.id)) === null ? "gone" : ctx.db.patch(step.id, step.row);
    case "unset":
      return (await ctx.db.get(step.id)) === null ? "gone" : ctx.db.patch(step.id, { a: undefined });
    case "replace":
      return (await ctx.db.get(step.id)) === null ? "gone" : ctx.db.replace(step.id, step.row);
    case "delete":
      return (await ctx.db.get(step.id)) === null ? "gone" : ctx.db.delete(step.id);
    case "read": {
      const rows = ctx.db
        .query("rows")
        .withIndex(step.index, (q: any) =>
          step.bounds.reduce((built: any, { op, field, value }: any) => built[op](field, value), q),
        )
        .order(step.order);
      const found = step.take === null ? await rows.collect() : await rows.take(step.take);
      return found.map((row: any) => row._id);
    }
    case "nested":
      try {
        return await ctx.runMutation(NESTED, { steps: step.steps, fail: step.fail });
      } catch (error) {
        return (error as Error).message.includes("taken back") ? "taken back" : String(error);
      }
    default:
      throw new Error(`no step ${step.op}`);
  }
}

const args = { steps: v.array(v.any()), fail: v.boolean() };

export const run = mutation({ args, handler });
export const nested = internalMutation({ args, handler });
