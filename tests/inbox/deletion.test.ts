import { expect, test } from "vitest";

import { deletionObstacles, isConfirmed } from "../../lib/inbox/deletion.ts";

const FREE = "customer_free_plan";
const PRO = "customer_pro_plan";
const facts = { freePlanKey: FREE, planKey: FREE, limitPlanKey: FREE, running: [] };

test.each([
  ["nothing", {}, []],
  ["no plan at the provider", { limitPlanKey: null }, []],
  ["a paid plan that events told", { planKey: PRO }, [{ code: "paid_plan", planKey: PRO }]],
  ["a paid plan that only the provider told", { limitPlanKey: PRO }, [{ code: "paid_plan", planKey: PRO }]],
  [
    "running jobs",
    { running: [{ leaseExpiresAtMs: 5 }, { leaseExpiresAtMs: 9 }] },
    [{ code: "jobs_running", count: 2, lastLeaseExpiresAtMs: 9 }],
  ],
  [
    "both",
    { planKey: PRO, running: [{ leaseExpiresAtMs: 5 }] },
    [
      { code: "paid_plan", planKey: PRO },
      { code: "jobs_running", count: 1, lastLeaseExpiresAtMs: 5 },
    ],
  ],
])("in the way of a deletion: %s", (_what, more, obstacles) => {
  expect(deletionObstacles({ ...facts, ...more })).toEqual(obstacles);
});

test("the email confirms, whatever its case; the name does where there is no email", () => {
  const account = { email: "Ada@example.org", name: "Ada" };
  expect(isConfirmed(account, " ada@EXAMPLE.org ")).toBe(true);
  expect(isConfirmed(account, "Ada")).toBe(false);
  expect(isConfirmed(account, "")).toBe(false);
  expect(isConfirmed({ email: null, name: "Ada" }, "ada")).toBe(true);
});
