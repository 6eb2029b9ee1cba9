/** Whether a customer may delete the own account now. What has to be done first is named, all of it at once. */

export type DeletionObstacle =
  /** The agreement is the provider's: deleting here would not end it, and it would go on to be paid. */
  | { readonly code: "paid_plan"; readonly planKey: string }
  /** They hold tokens and would go on to use them. `lastLeaseExpiresAtMs`: when the last is over without a sign of life. */
  | { readonly code: "jobs_running"; readonly count: number; readonly lastLeaseExpiresAtMs: number };

export interface DeletionFacts {
  readonly freePlanKey: string;
  /** What the billing events come to. */
  readonly planKey: string;
  /** What the provider named at the last reading of the limit; null when it named none. */
  readonly limitPlanKey: string | null;
  readonly running: readonly { readonly leaseExpiresAtMs: number }[];
}

/** Empty: nothing is in the way. A plan counts when events or the provider say so, since either may be late. */
export function deletionObstacles(facts: DeletionFacts): DeletionObstacle[] {
  const obstacles: DeletionObstacle[] = [];
  const { freePlanKey, planKey, limitPlanKey, running } = facts;
  const paidKey = [planKey, limitPlanKey].find((key) => key !== null && key !== freePlanKey);
  if (paidKey != null) obstacles.push({ code: "paid_plan", planKey: paidKey });
  if (running.length > 0) {
    const lastLeaseExpiresAtMs = Math.max(...running.map(({ leaseExpiresAtMs }) => leaseExpiresAtMs));
    obstacles.push({ code: "jobs_running", count: running.length, lastLeaseExpiresAtMs });
  }
  return obstacles;
}

/** What has to be typed to confirm: the email, or the name of an account that has none. */
export function isConfirmed(
  { email, name }: { readonly email: string | null; readonly name: string },
  typed: string,
): boolean {
  return typed.trim().toLowerCase() === (email ?? name).trim().toLowerCase();
}
