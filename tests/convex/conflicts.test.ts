import { afterEach, expect, test } from "vitest";

import { CONFLICT_TRIES_MAX, conflictWaitMs } from "../../lib/gate/conflict-retry.ts";
import { type Backend, createBackend } from "../helpers/backend.ts";
import { createTenant, type Tenant } from "../helpers/tenant.ts";

let backend: Backend | undefined;
afterEach(() => backend?.close());

/** The official mock runs one transaction at a time. */
const hasNoConflicts = process.env["HOLDFAST_TEST_BACKEND"] === "convex-test";

/** Repeats a call that lost every conflict, as the server does. Null: out of tries, which callers see as `busy`. */
async function withRetry<Answer>(call: () => Promise<Answer>): Promise<Answer | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes("changed while this mutation")) throw error;
      const waitMs = conflictWaitMs(tries, Math.random());
      if (waitMs === null) return null;
      await new Promise((done) => setTimeout(done, waitMs));
    }
  }
}

async function admitAtOnce(tenant: Tenant, count: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const answer = await withRetry(() => tenant.admitOnce({ key: `k${index}`, units: 10 }));
      const kind = answer?.kind ?? "busy";
      counts[kind] = (counts[kind] ?? 0) + 1;
    }),
  );
  return counts;
}

test.skipIf(hasNoConflicts)(
  "A21: 50 admissions at once on one account, with conflicts, are all decided and the limit holds",
  async () => {
    backend = await createBackend({ concurrency: 8 });
    const tenant = await createTenant(backend, { limitUnits: 300 });
    expect(await admitAtOnce(tenant, 50)).toEqual({ admitted: 30, refused: 20 });
    expect(backend.conflictCount()).toBeGreaterThan(0);
    expect(await tenant.usage()).toMatchObject({ usedUnits: 0, heldUnits: 300 });
  },
);

test.skipIf(hasNoConflicts)(
  "A21: at 500 at once every answer is a decision or busy, and the limit holds",
  async () => {
    backend = await createBackend({ concurrency: 8 });
    const tenant = await createTenant(backend, { limitUnits: 3_000, jobsPerMinute: 10_000 });
    const { admitted = 0, refused = 0, busy = 0 } = await admitAtOnce(tenant, 500);
    expect(admitted + refused + busy).toBe(500);
    expect(admitted).toBeLessThanOrEqual(300);
    expect(await tenant.usage()).toMatchObject({ heldUnits: admitted * 10 });
  },
  // Hundreds of conflicts on one row are work; a busy machine takes its time over them.
  120_000,
);

test("a caller has as many tries as the rule says", () => {
  const waits = Array.from({ length: CONFLICT_TRIES_MAX }, (_, index) => conflictWaitMs(index + 1, 0.5));
  expect(waits.filter((waitMs) => waitMs !== null)).toHaveLength(CONFLICT_TRIES_MAX - 1);
});
