import { afterEach, beforeEach, expect, test } from "vitest";

import type { JobView } from "../../lib/gate/job-view.ts";
import { type Backend, createBackend } from "../helpers/backend.ts";
import { createTenant, type Tenant } from "../helpers/tenant.ts";

interface EndedJob {
  readonly id: string;
  readonly kind: string;
  readonly heldUnits: number;
  readonly usedUnits: number;
  readonly overCapUnits: number;
  readonly endedAtMs: number;
}

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend, { limitUnits: 1_000_000 });
});
afterEach(() => backend.close());

const ended = async (of = tenant): Promise<EndedJob[]> =>
  (await of.query<{ jobs: EndedJob[] }>("screensEstimates:ended", {})).jobs;

async function start(key: string, kind = "report"): Promise<JobView> {
  return (await tenant.mutation<{ job: JobView }>("gate:admit", { key, kind, units: 100 })).job;
}

const settle = (jobId: string, outcome: string, usedUnits = 0) =>
  tenant.mutation("gate:settle", { jobId, outcome, usedUnits });

test("jobs that ran to an end of their own, in the order in which they started, own ones only", async () => {
  expect(await ended()).toEqual([]);
  const first = await start("a");
  await settle(first.id, "completed", 30);
  const capped = await start("b", "mail");
  await tenant.mutation("gate:charge", { jobId: capped.id, step: 1, units: 150, fence: capped.fence });
  await settle((await start("c")).id, "failed", 10);
  await settle((await start("d")).id, "cancelled");
  await start("e");
  const jobs = await ended();
  expect(jobs).toEqual([
    expect.objectContaining({ id: first.id, kind: "report", heldUnits: 100, usedUnits: 30, overCapUnits: 0 }),
    expect.objectContaining({
      id: capped.id,
      kind: "mail",
      heldUnits: 100,
      usedUnits: 100,
      overCapUnits: 50,
    }),
  ]);
  expect(jobs[0]!.endedAtMs).toBeGreaterThanOrEqual(first.startedAtMs);
  expect(await ended(await createTenant(backend))).toEqual([]);
});

test("of many the newest hundred", async () => {
  for (let count = 0; count < 101; count += 1)
    await settle((await start(`k${count}`)).id, "completed", count);
  const jobs = await ended();
  expect(jobs.map(({ usedUnits }) => usedUnits)).toEqual(
    Array.from({ length: 100 }, (_none, index) => index + 1),
  );
});
