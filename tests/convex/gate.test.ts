import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend } from "../helpers/backend.ts";
import { createTenant } from "../helpers/tenant.ts";

let backend: Backend;
beforeEach(async () => {
  backend = await createBackend();
});
afterEach(() => backend.close());

describe("life of a job", () => {
  test("S4: what was not used of a hold returns", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100_000 });
    const job = await tenant.start({ key: "k", units: 40_000 });
    expect(job).toMatchObject({ status: "running", heldUnits: 40_000, usedUnits: 0, step: 0, fence: 1 });
    await tenant.charge({ jobId: job.id, step: 1, units: 31_200, fence: 1 });
    const settled = await tenant.settle({ jobId: job.id, outcome: "completed" });
    expect(settled).toMatchObject({
      kind: "settled",
      replayed: false,
      job: { status: "completed", usedUnits: 31_200, returnedUnits: 8_800, overCapUnits: 0 },
    });
    expect(await tenant.usage()).toMatchObject({ usedUnits: 31_200, heldUnits: 0, freeUnits: 68_800 });
    expect(await backend.readAll("entries")).toMatchObject([
      { key: job.id, units: 31_200, feature: "tokens" },
    ]);
  });
});
