import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { CreditRow } from "../../lib/inbox/allowance.ts";
import {
  changeInstant,
  DELIVERIES,
  distinctOrders,
  scenarioBodies,
  stepsOf,
} from "../../lib/inbox/scenario.ts";
import { type Backend, type BackendOptions, createBackend, type StoredRow } from "../helpers/backend.ts";
import { type CustomerRow, deliver, type EventRow, FREE, PRO, settle } from "../helpers/inbox.ts";
import { InboxCrash } from "../helpers/inbox-crash.ts";
import { expectAllDone, play, type Run as Play } from "../helpers/inbox-runs.ts";
import { operatorOf } from "../helpers/tenant.ts";

interface Side {
  readonly planKey: string;
  readonly balanceUnits: number;
}

interface Run {
  readonly status: string;
  readonly failure: string | null;
  readonly script: readonly { event: string; stops: boolean }[];
  readonly steps: readonly {
    event: string;
    naive: Side;
    pipeline: Side;
    isCopy: boolean;
    hasClaimed: boolean;
    status: string;
    result: string | null;
    error: string | null;
  }[];
  readonly start: Side;
  readonly naive: Side;
  readonly pipeline: Side & Record<"receipts" | "stored" | "copies" | "grants" | "ignored", number>;
}

let backend: Backend;
const open = async (options: BackendOptions = {}): Promise<void> => {
  backend = await createBackend(options);
};
beforeEach(() => open());
afterEach(() => backend.close());

const start = (args: object = {}) =>
  operatorOf(backend).mutation<{ runId: string }>("engineRoom:start", args);
const get = (runId: string) => operatorOf(backend).query<Run>("engineRoom:get", { runId });
const accounts = () => backend.readAll<CustomerRow & { source: string }>("accounts");

async function run(args: object = {}): Promise<Run> {
  const { runId } = await start(args);
  await settle(backend);
  return await get(runId);
}

const END = { planKey: PRO, balanceUnits: 500, receipts: 9, stored: 3, copies: 6, grants: 1, ignored: 1 };

describe("S10 on the engine", () => {
  test("S10: naive ends with Pro and 2,950; the pipeline with Pro, 500, one grant, three events and six copies", async () => {
    const { status, start: begin, naive, pipeline, steps } = await run();
    expect(status).toBe("finished");
    expect(begin).toEqual({ planKey: FREE, balanceUnits: 10 });
    expect(naive).toEqual({ planKey: PRO, balanceUnits: 2_950 });
    expect(pipeline).toEqual(END);
    expect(steps.map(({ naive: { planKey, balanceUnits } }) => [planKey, balanceUnits])).toEqual([
      [FREE, 10],
      [PRO, 10],
      [PRO, 500],
      [PRO, 990],
      [PRO, 1_480],
      [PRO, 1_970],
      [FREE, 1_970],
      [PRO, 2_460],
      [PRO, 2_950],
    ]);
    expect(steps.map(({ pipeline: { planKey, balanceUnits } }) => [planKey, balanceUnits])).toEqual([
      [FREE, 10],
      [FREE, 10],
      ...Array.from({ length: 7 }, () => [PRO, 500]),
    ]);
    expect(steps.map((step) => step.status)).toEqual([
      "applied",
      "failed",
      "applied",
      "applied",
      "applied",
      "applied",
      "ignored",
      "applied",
      "applied",
    ]);
    expect(steps.map(({ isCopy }) => isCopy)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
      false,
      true,
      true,
    ]);
    expect(steps.map(({ hasClaimed }) => hasClaimed)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      true,
      false,
      false,
    ]);
    expect(steps[1]!.error).toContain("the worker stopped between its two writes");
    expect(steps[6]!.result).toBe("a newer plan change is already stored");
  });

  test("S10: the stopped change is rolled back, counted as one attempt, and run to the end by its copy", async () => {
    await run();
    const rows = await backend.readAll<EventRow & { type: string }>("inboxEvents");
    const change = rows.find(({ type }) => type === "customer.plan_changed");
    expect(change).toMatchObject({ status: "applied", attempts: 2, fence: 2, seenCount: 3, error: null });
    expect(await backend.readAll("planChanges")).toHaveLength(2);
    // The wait of the failed attempt ends with nothing left to do.
    const before = await backend.readAll("inboxEvents");
    await backend.advanceMs(60_000);
    expect(await backend.readAll("inboxEvents")).toEqual(before);
  });

  test("S11: a seed tells the order, another one another order, and the pipeline ends the same", async () => {
    const orders = new Set<string>();
    for (const seed of [1, 2, 3, 2 ** 32 - 1]) {
      const { status, pipeline, script } = await run({ seed });
      expect({ status, pipeline }).toEqual({ status: "finished", pipeline: END });
      orders.add(script.map(({ event }) => event).join());
    }
    expect(orders.size).toBe(4);
    for (const seed of [-1, 0.5, 2 ** 32]) {
      await expect(start({ seed })).rejects.toMatchObject({ data: { code: "invalid" } });
    }
  });

  test("S12: ten more deliveries of each event and a replay of each change nothing but counts and receipts", async () => {
    const { runId } = await start();
    await settle(backend);
    const tables = ["accounts", "planChanges", "payments", "credits", "agreements", "reviews"];
    const read = () => Promise.all(tables.map((table) => backend.readAll(table)));
    const before = await read();
    const events = () => backend.readAll<EventRow>("inboxEvents");
    const outcomes = async () => (await events()).map(({ status, result }) => ({ status, result }));
    const outcomesBefore = await outcomes();
    const payloads = await backend.readAll<StoredRow & { text: string }>("inboxPayloads");
    for (const { text } of payloads) {
      for (let copy = 0; copy < 10; copy += 1) {
        expect(await deliver(backend, text)).toMatchObject({ kind: "copy" });
        await settle(backend);
      }
    }
    for (const { _id: id } of await events()) {
      await operatorOf(backend).mutation("inboxEvents:replayAny", { id });
      await settle(backend);
    }
    expect(await read()).toEqual(before);
    expect(await outcomes()).toEqual(outcomesBefore);
    expect((await events()).map(({ seenCount }) => seenCount)).toEqual([15, 13, 11]);
    expect((await get(runId)).pipeline).toEqual({ ...END, receipts: 39, copies: 36 });
  });
});

describe("S11 on the engine", () => {
  test(
    "S11: all 504 distinct orders, the first change stopped, end with Pro, 500, one Pro grant and the cancellation ignored",
    async () => {
      await backend.close();
      const crash = new InboxCrash();
      await open({ beforeWrite: crash.beforeWrite });
      const changedAtMs = changeInstant(backend.nowMs());
      const runs = [...distinctOrders(DELIVERIES)].map((order, index): Play => {
        const ids = { userId: `kp_${index}`, customerId: `customer_${index}`, run: `r${index}` };
        const bodies = scenarioBodies(ids, PRO, changedAtMs);
        const steps = stepsOf(order);
        const step = steps.findIndex(({ stops }) => stops);
        // Of a change to Pro the plan is written before the credits; odd ones also lose their worker.
        const kind = index % 2 === 0 ? "throws" : "dies";
        return {
          customer: ids.userId,
          deliveries: order.map((event) => bodies[event]),
          crash: { step, kind, atWrite: 2 },
        };
      });
      await play(backend, crash, runs, 1_000);
      const events = await expectAllDone(backend);
      expect([runs.length, crash.count, events.length]).toEqual([504, 504, 3 * 504]);
      expect(events.filter(({ status }) => status === "ignored")).toHaveLength(504);
      expect(events.reduce((sum, { seenCount }) => sum + seenCount, 0)).toBe(9 * 504);
      const rows = await accounts();
      expect(rows.filter(({ planKey }) => planKey === PRO)).toHaveLength(504);
      const credits = await backend.readAll<StoredRow & CreditRow & { accountId: string }>("credits");
      const sums = new Map<string, number>();
      for (const { accountId, units } of credits) sums.set(accountId, (sums.get(accountId) ?? 0) + units);
      expect([...new Set(sums.values())]).toEqual([500]);
      expect(credits.filter(({ planKey }) => planKey === PRO)).toHaveLength(504);
      console.log(`order proof on the engine: ${runs.length} orders of nine deliveries, each stopped once`);
    },
    3 * 60_000,
  );
});

describe("the throw-away account", () => {
  test("is nobody's: a lab account with ids of its own, no limit, no meter, and seen by no other run", async () => {
    await run();
    await run();
    const rows = await accounts();
    expect(rows).toMatchObject([{ source: "lab" }, { source: "lab" }]);
    expect(new Set(rows.flatMap(({ kindeUserId, customerId }) => [kindeUserId, customerId])).size).toBe(4);
    for (const table of ["meters", "marks", "limits"]) expect(await backend.readAll(table)).toEqual([]);
    const { accountIds } = await backend.query<{ accountIds: string[] }>("reconcile:listAccounts", {
      cursor: null,
    });
    expect(accountIds).toEqual([]);
  });

  test("fifty runs are kept; an older one goes with everything that belongs to it", async () => {
    const first = await start();
    await settle(backend);
    for (let count = 0; count < 50; count += 1) await start();
    await settle(backend);
    expect(await get(first.runId)).toBeNull();
    const count = async (table: string) => (await backend.readAll(table)).length;
    expect(await count("engineRoomRuns")).toBe(50);
    expect(await count("accounts")).toBe(50);
    expect(await count("billing")).toBe(50);
    expect(await count("inboxEvents")).toBe(150);
    expect(await count("inboxPayloads")).toBe(150);
    expect(await count("receipts")).toBe(450);
    expect(await count("planChanges")).toBe(100);
    expect(await count("payments")).toBe(50);
    expect(await count("credits")).toBe(100);
    expect(await operatorOf(backend).query<Run>("engineRoom:latest", {})).toMatchObject({
      status: "finished",
      pipeline: END,
    });
  });

  test("customers and keys that are no operator's get nothing", async () => {
    const calls = backend.as({ subject: "kp_a" });
    await expect(calls.mutation("engineRoom:start", {})).rejects.toMatchObject({
      data: { code: "forbidden" },
    });
    await expect(calls.query("engineRoom:latest", {})).rejects.toMatchObject({ data: { code: "forbidden" } });
    const operator = backend.as({ subject: "kp_b", permissions: ["operate:holdfast"] });
    expect(await operator.query("engineRoom:latest", {})).toBeNull();
    expect(await operator.query("engineRoom:get", { runId: "nonsense" })).toBeNull();
  });
});

describe("beside the live inbox", () => {
  test.each([
    ["in the first seconds of a month", Date.UTC(2026, 10, 1, 0, 0, 1)],
    ["in the last second of a month", Date.UTC(2026, 9, 31, 23, 59, 59)],
    ["three minutes into a month", Date.UTC(2026, 10, 1, 0, 3, 1)],
  ])("S10: ends the same %s", async (_, startMs) => {
    await backend.close();
    await open({ startMs });
    const { naive, pipeline } = await run();
    expect([naive.balanceUnits, pipeline]).toEqual([2_950, END]);
  });

  test("S10: the steps are the same while live workers run and several runs go on at once", async () => {
    await backend.close();
    await open({ concurrency: 8 });
    const ids = await Promise.all(Array.from({ length: 6 }, () => start()));
    const live = Promise.all(Array.from({ length: 40 }, () => backend.action("inboxWorker:kick", {})));
    await settle(backend);
    await live;
    const runs = await Promise.all(ids.map(({ runId }) => get(runId)));
    for (const { status, pipeline, steps } of runs) {
      expect({ status, pipeline }).toEqual({ status: "finished", pipeline: END });
      expect(steps.map((step) => step.pipeline.balanceUnits)).toEqual([
        10, 10, 500, 500, 500, 500, 500, 500, 500,
      ]);
    }
  });

  test("a run that cannot go on says why", async () => {
    await backend.close();
    let isBroken = false;
    await open({
      beforeWrite: (table) => {
        if (isBroken && table === "receipts") throw new Error("no write to receipts");
      },
    });
    isBroken = true;
    const { status, failure, steps } = await run();
    expect({ status, steps }).toEqual({ status: "failed", steps: [] });
    expect(failure).toContain("no write to receipts");
  });

  test("a run whose engine ended in the middle is seen as stopped, and a new one runs to its end", async () => {
    await backend.close();
    const folder = mkdtempSync(join(tmpdir(), "engine-room-"));
    const dataFile = join(folder, "data.sqlite");
    let isGone = false;
    let stepsWritten = 0;
    await open({
      dataFile,
      // From then on nothing that the engine does is kept, as if its process had ended.
      beforeWrite: (table) => {
        if (table === "engineRoomRuns") stepsWritten += 1;
        if (stepsWritten > 4) isGone = true;
        if (isGone) throw new Error("the engine is gone");
      },
    });
    const { runId } = await start();
    await settle(backend);
    expect(await get(runId)).toMatchObject({ status: "running" });
    await backend.close();
    await open({ dataFile });
    const { status, steps, script } = await get(runId);
    expect(status).toBe("stopped");
    expect(steps.length).toBeLessThan(script.length);
    expect((await run()).pipeline).toEqual(END);
    expect(await get(runId)).toMatchObject({ status: "stopped" });
    await backend.close();
    rmSync(folder, { recursive: true, force: true });
    await open();
  });

  test("the plan with the most credits is the one that is changed to, and there has to be one", async () => {
    await backend.close();
    await open({ env: { HOLDFAST_ALLOWANCES: "none=3,gold=103,silver=50" } });
    const { naive, pipeline } = await run();
    expect(naive).toEqual({ planKey: "gold", balanceUnits: 3 + 6 * 100 });
    expect(pipeline).toEqual({ ...END, planKey: "gold", balanceUnits: 103 });
    await backend.close();
    await open({ env: { HOLDFAST_ALLOWANCES: "none=3" } });
    await expect(start()).rejects.toMatchObject({ data: { code: "invalid" } });
  });
});
