import { v } from "convex/values";

import { allowances } from "./allowances";
import { accountQuery } from "./functions";

/** What the plans of this deployment are worth, for the screen that offers them. */

/** The reminder credits of a month, by the key of the plan. */
export const reminderCredits = accountQuery({
  scope: "usage:read",
  args: {},
  returns: v.record(v.string(), v.number()),
  // oxlint-disable-next-line require-await -- the builder takes promises
  handler: async () => ({ ...allowances().unitsByPlan }),
});
