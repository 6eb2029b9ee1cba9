import { afterEach, beforeEach, expect, test } from "vitest";

import { MINUTE_MS } from "../../lib/shared/durations.ts";
import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { createTenant, type Tenant } from "../helpers/tenant.ts";

interface CycleRow extends StoredRow {
  readonly cycle: string;
  readonly feature: string;
}

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend({ startMs: Date.UTC(2026, 9, 20, 15, 25) });
  tenant = await createTenant(backend, { limitUnits: 1_000, cycleAnchor: "2026-01-20T15:29:00Z" });
});
afterEach(() => backend.close());

const cyclesOf = async (table: string): Promise<string[]> => {
  const rows = await backend.readAll<CycleRow>(table);
  return rows.map((row) => `${row.feature} ${row.cycle}`);
};

async function work(key: string): Promise<void> {
  const job = await tenant.start({ key, units: 10 });
  await tenant.settle({ jobId: job.id, outcome: "completed", usedUnits: 4 });
}

test("B39: a cycle rolls over once, however many jobs and reporter runs cross the boundary", async () => {
  await work("before");
  // Crosses 15:29, with the reporter's cron at every minute and its flushes before the end.
  await backend.advanceMs(10 * MINUTE_MS);
  await Promise.all(Array.from({ length: 5 }, (_, index) => work(`after-${index}`)));
  await Promise.all([backend.action("reporter:run", {}), backend.action("reporter:run", {})]);
  expect(await cyclesOf("budgets")).toEqual(["tokens 2026-09", "tokens 2026-10"]);
  expect(await cyclesOf("meters")).toEqual(["tokens 2026-09", "tokens 2026-10"]);
  expect(await tenant.usage()).toMatchObject({ cycle: { name: "2026-10" }, usedUnits: 20, heldUnits: 0 });
});
