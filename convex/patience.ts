import { customAction, customCtx } from "convex-helpers/server/customFunctions";

import { isLostConflict, retryConflicts } from "../lib/gate/conflict-retry";
import { type ActionCtx, internalAction as bareInternalAction } from "./_generated/server";

/**
 * Actions that do not fail because one of their transactions lost every conflict. An action is no transaction: what it
 * has done stays done when it throws, a run that fails is not tried again before its next time, and the holds, totals
 * and events behind it wait. A mutation that lost has changed nothing, so it is tried again by the rule that our server
 * keeps towards callers. After that the conflict is thrown like any error.
 */

type RunsMutations = Pick<ActionCtx, "runMutation">;

/** The same context; `runMutation` throws a conflict only after the last try of `lib/gate/conflict-retry`. */
export function withPatience(ctx: RunsMutations): RunsMutations {
  return {
    runMutation: (mutation, ...args) =>
      retryConflicts(() => ctx.runMutation(mutation, ...args), isLostConflict, {
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        random: () => Math.random(),
      }),
  };
}

/** For functions that nobody outside calls: every internal action is made by it. */
export const internalAction = customAction(bareInternalAction, customCtx(withPatience));
