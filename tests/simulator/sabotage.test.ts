import { afterEach, beforeAll, expect, test, vi } from "vitest";

import { Transaction } from "../../lib/local-convex/transaction.ts";
import { shrink } from "../../lib/simulator/shrink.ts";
import { ruleOf, simulate } from "../../lib/simulator/run.ts";
import { makeSteps, type Step } from "../../lib/simulator/steps.ts";
import type { Functions } from "../../lib/simulator/world.ts";
import { builtFunctions, firstViolation, run, sabotaged } from "./functions.ts";

/* The simulator can fail: each of these faults is put into the product, and found. */

let functions: Functions;
beforeAll(async () => {
  functions = await builtFunctions();
});
afterEach(() => void vi.restoreAllMocks());

const LIMIT = "used + held is within the limit it was checked against";

/** Holds do not count against the limit. */
const gateless = () => {
  const blind = sabotaged(functions, "limitUnits - budget.usedUnits - budget.heldUnits", "limitUnits");
  return sabotaged(blind, "limitUnits === null || total <= limitUnits,", "true,");
};

test("a gate that overlooks holds", async () => {
  const { violation } = await run(1, 120, gateless());
  expect(violation).toMatchObject({ rule: LIMIT });
});

test("a ledger that does not know a key again", async () => {
  const blind = sabotaged(
    functions,
    "async function isBooked(ctx, key) {",
    "async function isBooked() {\n  return false;",
  );
  const { violation } = await run(1, 200, blind);
  expect(violation).toMatchObject({ rule: "one row of entries" });
});

test("a step that is charged again when it comes again", async () => {
  const blind = sabotaged(functions, "request.step === job.step", "false");
  const { violation } = await run(1, 200, blind);
  expect(violation).toMatchObject({ rule: "steps in their order are no conflict" });
});

test("a sweeper that finds nothing", async () => {
  const blind = sabotaged(
    functions,
    'q.eq("status", "running").lte("leaseExpiresAtMs", dueAtMs)',
    'q.eq("status", "running").lte("leaseExpiresAtMs", 0)',
  );
  const { violation } = await run(1, 120, blind);
  expect(violation).toMatchObject({ rule: "in the end nothing is held" });
});

test("a reporter that takes a lost answer for a good one", async () => {
  const text = 'if (answer.kind !== "failed") return';
  const blind = sabotaged(
    functions,
    text,
    'if (answer.kind !== "failed" || answer.committed === "unknown") return',
  );
  const violation = await firstViolation([1, 2, 3, 4], 200, blind);
  expect(violation).toMatchObject({ rule: "nothing is called sent that the meter never had" });
}, 90_000);

test("a ledger that asks nobody again about a closed meter that was decided on", async () => {
  const reporter = sabotaged(
    functions,
    'decided?.decision === "accept" && decided.late?.ledgerUnits === late.ledgerUnits',
    "decided !== null",
  );
  const blind = sabotaged(
    reporter,
    'late !== null && (status === "open" || late.late?.ledgerUnits === ledgerUnits)',
    "late !== null",
  );
  const violation = await firstViolation([3, 4], 300, blind);
  expect(violation).toMatchObject({ rule: "in the end ledger, sent and meter are one number" });
}, 90_000);

test("an inbox that grants the credits of a month again and again", async () => {
  const blind = sabotaged(functions, "const missing = units - sumOf(written);", "const missing = units;");
  const { violation } = await run(1, 120, blind);
  expect(violation).toMatchObject({ rule: "in the end the credits are those of the best plan of the month" });
});

test("an engine that overlooks conflicts", async () => {
  vi.spyOn(Transaction.prototype, "validate").mockReturnValue();
  vi.spyOn(Transaction.prototype, "recordRead").mockReturnValue();
  const { violation } = await run(1, 120, functions);
  expect(violation).not.toBeNull();
});

test("a failure is shrunk to the steps that matter", async () => {
  const blind = gateless();
  const fails = async (tried: readonly Step[]) => {
    const { violation } = await simulate(1, tried, blind);
    return violation !== null && ruleOf(violation) === LIMIT;
  };
  const steps = makeSteps(1, 120);
  const { begun } = await run(1, 120, blind);
  let triesLeft = 12;
  const kept = await shrink(steps.slice(0, begun), fails, () => triesLeft-- > 0);
  expect(kept.length).toBeLessThan(begun);
  expect(await fails(kept)).toBe(true);
}, 120_000);
