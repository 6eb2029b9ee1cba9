import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { GATE_BATCH_MAX } from "../../lib/gate/batch.ts";
import { seededRandom } from "../helpers/random-values.ts";
import { type Backend, createBackend } from "../helpers/backend.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

interface Call {
  readonly call: "admit" | "charge" | "heartbeat" | "extend" | "settle";
  readonly [field: string]: unknown;
}
interface Answer {
  readonly kind: string;
  readonly job?: { readonly id: string; readonly fence: number; readonly step: number };
  readonly refusal?: { readonly code: string };
}

let backend: Backend;
beforeEach(async () => {
  backend = await createBackend();
});
afterEach(() => backend.close());

const runBatch = (tenant: Tenant, calls: readonly Call[]) =>
  tenant.mutation<Answer[]>("gateBatch:run", { calls });

async function ready(options: { limitUnits: number; jobsPerMinute?: number }): Promise<Tenant> {
  const tenant = await createTenant(backend, { jobsPerMinute: 10_000, ...options });
  // The limit is read once, so that no batch has to ask for it.
  const first = await tenant.start({ key: "first", units: 1 });
  await tenant.settle({ jobId: first.id, outcome: "completed" });
  return tenant;
}

describe("a batch", () => {
  test("holds the limit within itself and beside others", async () => {
    const tenant = await ready({ limitUnits: 100 });
    const batches = Array.from({ length: 5 }, (_, batch) =>
      runBatch(
        tenant,
        Array.from({ length: 10 }, (_each, index) => ({
          call: "admit",
          key: `k${batch}-${index}`,
          units: 10,
        })),
      ),
    );
    const answers = (await Promise.all(batches)).flat();
    expect(answers.filter(({ kind }) => kind === "admitted")).toHaveLength(10);
    const refused = answers.filter(({ kind }) => kind === "refused");
    expect(new Set(refused.map(({ refusal }) => refusal?.code))).toEqual(new Set(["held_by_running_jobs"]));
    expect(await tenant.usage()).toMatchObject({ usedUnits: 0, heldUnits: 100, freeUnits: 0 });
  });

  test("the same key twice is one job with one hold, and another request under it a conflict", async () => {
    const tenant = await ready({ limitUnits: 100 });
    const answers = await runBatch(tenant, [
      { call: "admit", key: "k", units: 10 },
      { call: "admit", key: "k", units: 10 },
      { call: "admit", key: "k", units: 20 },
    ]);
    expect(answers).toMatchObject([
      { kind: "admitted", replayed: false },
      { kind: "admitted", replayed: true },
      { kind: "refused", refusal: { code: "key_conflict" } },
    ]);
    expect(answers[1]!.job!.id).toBe(answers[0]!.job!.id);
    expect(await tenant.usage()).toMatchObject({ heldUnits: 10 });
  });

  test("settles ended leases when room is short, after what it has let in itself", async () => {
    const tenant = await ready({ limitUnits: 100 });
    await tenant.start({ key: "lapsed", units: 60, leaseMs: 10_000 });
    await backend.advanceMs(11_000);
    const answers = await runBatch(tenant, [
      { call: "admit", key: "a", units: 40 },
      { call: "admit", key: "b", units: 60 },
      { call: "admit", key: "c", units: 1 },
    ]);
    expect(answers).toMatchObject([
      { kind: "admitted" },
      { kind: "admitted" },
      { kind: "refused", refusal: { code: "held_by_running_jobs", heldUnits: 100, freeUnits: 0 } },
    ]);
  });

  test("writes the first budget row of a cycle once, also when it is written before the end", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    expect(await tenant.admit({ key: "too large", units: 101 })).toMatchObject({ kind: "refused" });
    const answers = await runBatch(tenant, [
      { call: "admit", key: "a", units: 40 },
      { call: "admit", key: "b", units: 101 },
      { call: "admit", key: "c", units: 40 },
    ]);
    expect(answers.map(({ kind }) => kind)).toEqual(["admitted", "refused", "admitted"]);
    expect(await backend.readAll("budgets")).toMatchObject([{ usedUnits: 0, heldUnits: 80 }]);
  });

  test("counts each of its jobs against the rate, and keeps one rate refusal a window", async () => {
    const tenant = await ready({ limitUnits: 100, jobsPerMinute: 4 });
    const calls = Array.from({ length: 6 }, (_, index): Call => ({
      call: "admit",
      key: `k${index}`,
      units: 1,
    }));
    const kinds = (await runBatch(tenant, calls)).map(({ kind }) => kind);
    expect(kinds).toEqual(["admitted", "admitted", "admitted", "refused", "refused", "refused"]);
    expect(await backend.readAll("refusals")).toHaveLength(1);
  });

  test("gives the lease of a limit that is too old to one, and the others wait", async () => {
    const tenant = await ready({ limitUnits: 100 });
    await backend.advanceMs(11 * 60_000);
    const answers = await runBatch(
      tenant,
      ["a", "b", "c"].map((key): Call => ({ call: "admit", key, units: 1 })),
    );
    expect(answers.map(({ kind }) => kind)).toEqual(["refresh_needed", "refresh_pending", "refresh_pending"]);
  });

  test("a number that is out of range is refused alone", async () => {
    const tenant = await ready({ limitUnits: 100 });
    const answers = await runBatch(tenant, [
      { call: "admit", key: "a", units: -1 },
      { call: "admit", key: "b", units: 1 },
    ]);
    expect(answers).toMatchObject([
      { kind: "refused", refusal: { code: "out_of_range" } },
      { kind: "admitted" },
    ]);
  });

  test("a call that throws takes all of them back", async () => {
    const tenant = await ready({ limitUnits: 100 });
    const job = await tenant.start({ key: "j", units: 10 });
    const calls: Call[] = [
      { call: "admit", key: "a", units: 1 },
      { call: "heartbeat", jobId: job.id },
    ];
    await expect(runBatch(tenant, calls)).rejects.toThrow("fence is needed");
    expect(await tenant.usage()).toMatchObject({ heldUnits: 10 });
  });

  test.each([0, GATE_BATCH_MAX + 1])("of %i calls is not taken", async (count) => {
    const tenant = await ready({ limitUnits: 100 });
    const calls = Array.from({ length: count }, (_, index): Call => ({
      call: "admit",
      key: `k${index}`,
      units: 1,
    }));
    await expect(runBatch(tenant, calls)).rejects.toThrow(`1 to ${GATE_BATCH_MAX} calls`);
  });

  test("another account's job is not found", async () => {
    const [owner, other] = [await ready({ limitUnits: 100 }), await ready({ limitUnits: 100 })];
    const job = await owner.start({ key: "j", units: 10 });
    const mine = { jobId: job.id, fence: job.fence };
    const answers = await runBatch(other, [
      { call: "charge", step: 1, units: 5, ...mine },
      { call: "heartbeat", ...mine },
      { call: "extend", units: 5, ...mine },
      { call: "settle", outcome: "completed", ...mine },
    ]);
    expect(answers).toEqual(Array.from({ length: 4 }, () => ({ kind: "not_found" })));
    expect(await owner.job(job.id)).toMatchObject({ status: "running", heldUnits: 10, usedUnits: 0 });
  });
});

test.each([1, 2, 3, 4])(
  "random calls, together or one by one, come to the same answers (seed %i)",
  async (seed) => {
    const [together, alone] = [
      await ready({ limitUnits: 600, jobsPerMinute: 60 }),
      await ready({ limitUnits: 600, jobsPerMinute: 60 }),
    ];
    const random = seededRandom(seed);
    const below = (count: number) => Math.floor(random() * count);
    /** The same job on both sides: its id there, what a worker knows of it. */
    const jobs: { together: string; alone: string; step: number }[] = [];
    for (let round = 0; round < 25; round += 1) {
      const pairs = Array.from({ length: 1 + below(12) }, (): [Call, Call] => {
        const job = jobs[below(jobs.length + 1)];
        if (job === undefined || below(3) === 0) {
          const admit: Call = {
            call: "admit",
            key: `k${below(80)}`,
            units: 1 + below(4) * 20,
            ...(below(4) === 0 ? { acceptUnits: 1 } : {}),
            leaseMs: 10_000 + below(2) * 60_000,
          };
          return [admit, admit];
        }
        const on = (call: Call): [Call, Call] => [
          { ...call, jobId: job.together },
          { ...call, jobId: job.alone },
        ];
        switch (below(4)) {
          case 0:
            return on({ call: "charge", step: (job.step += 1), units: below(30), fence: 1 });
          case 1:
            return on({ call: "heartbeat", fence: 1 });
          case 2:
            return on({ call: "extend", units: 1 + below(40), fence: 1 });
          default:
            return on({ call: "settle", outcome: "completed", usedUnits: below(20) });
        }
      });
      const got = await runBatch(
        together,
        pairs.map(([call]) => call),
      );
      const wanted: Answer[] = [];
      for (const [, { call, ...args }] of pairs)
        wanted.push(await alone.mutation<Answer>(`gate:${call}`, args));
      expect(got.map(withoutIds)).toEqual(wanted.map(withoutIds));
      for (const [index, answer] of got.entries()) {
        if (pairs[index]![0].call !== "admit" || answer.job === undefined) continue;
        jobs.push({ together: answer.job.id, alone: wanted[index]!.job!.id, step: answer.job.step });
      }
      await backend.advanceMs(below(4_000));
    }
    expect(withoutIds(await together.usage())).toEqual(withoutIds(await alone.usage()));
    expect(await operatorOf(backend).audit()).toMatchObject({ repaired: 0 });
  },
);

/** Ids and account ids differ between the two sides, and so may the order of jobs of one lease end. */
function withoutIds(value: unknown): unknown {
  const text = JSON.stringify(value, (name, each: unknown) =>
    name === "id" || name === "accountId" || name === "running" ? undefined : each,
  );
  return JSON.parse(text);
}
