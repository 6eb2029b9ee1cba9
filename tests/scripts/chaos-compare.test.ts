import { describe, expect, test } from "vitest";
import { compare } from "../../scripts/chaos/compare.ts";
import { whatWaits } from "../../scripts/chaos/settle.ts";
import { remainsOf, smallWorld, type SmallWorld } from "./chaos-world.ts";

/** A world with a fault in it. */
function planted(plant: (world: SmallWorld) => void): SmallWorld {
  const world = smallWorld();
  plant(world);
  return world;
}

function found(world: SmallWorld): string[] {
  return compare(world.journal, remainsOf(world), world.lastWords).map(
    ({ kind, what, id }) => `${kind} ${what} ${id}`,
  );
}

function row(world: SmallWorld, table: string, index = 0): Record<string, unknown> {
  return world.tables[table]![index]!;
}

const job = ({ journal }: SmallWorld) => journal.jobs[0]!;

test("a run that ended well has no findings", () => {
  expect(found(smallWorld())).toEqual([]);
});

describe("a planted loss is found:", () => {
  test.each<[string, string, (world: SmallWorld) => void]>([
    ["an admission", "lost admission job-0-1", (world) => void world.tables["jobs"]!.pop()],
    [
      "an admission under another id",
      "lost admission job-0-1",
      (world) => void (row(world, "jobs")["_id"] = "job2"),
    ],
    ["a charge", "lost charge job-0-1", (world) => void (row(world, "jobs")["step"] = 1)],
    ["the units of a charge", "lost charge job-0-1", (world) => void (row(world, "jobs")["usedUnits"] = 20)],
    ["an extension", "lost extension job-0-1", (world) => void (row(world, "jobs")["heldUnits"] = 50)],
    ["an ending", "lost settle job-0-1", (world) => void (row(world, "jobs")["status"] = "expired")],
    ["the entry of a job", "lost entry job-0-1", (world) => void world.tables["entries"]!.shift()],
    [
      "use in a budget",
      "lost budget account1 2026-12",
      (world) => void (row(world, "budgets")["usedUnits"] = 29),
    ],
    ["a click", "lost click https://chaos.example/run/0/2", (world) => void world.tables["entries"]!.pop()],
    ["a counter", "lost counters clicks", (world) => void world.tables["shards"]!.pop()],
    ["a report", "lost sent tokens", (world) => void world.tables["reports"]!.shift()],
    ["units at the meter", "lost meter ag_1 clicks", (world) => void world.provider.meters.pop()],
    ["an event at the provider", "lost told event event_paid", (world) => void world.provider.events.pop()],
    ["a webhook", "lost webhook event_paid", (world) => void world.tables["inboxEvents"]!.pop()],
    ["a receipt", "lost receipt event_paid", (world) => void world.tables["receipts"]!.pop()],
    ["a payment", "lost payment event_paid", (world) => void world.tables["payments"]!.pop()],
    ["a plan fact", "lost plan fact event_created", (world) => void world.tables["planChanges"]!.pop()],
    ["credits", "lost credits kp_1", (world) => void world.tables["credits"]!.pop()],
    ["a customer", "lost customer kp_1", (world) => void world.tables["accounts"]!.pop()],
    [
      "a change of plan",
      "lost plan change kp_1",
      ({ journal }) => void journal.plans.push({ userId: "kp_1", planKey: "p", answered: true }),
    ],
  ])("%s", (_, finding, plant) => {
    expect(found(planted(plant))).toContain(finding);
  });
});

describe("a planted doubling is found:", () => {
  const twice =
    (table: string, index = 0, change: Record<string, unknown> = {}) =>
    (world: SmallWorld): void => {
      const copy = { ...row(world, table, index), _id: "copy", ...change };
      world.tables[table]!.push(copy);
    };
  test.each<[string, string, (world: SmallWorld) => void]>([
    ["an admission", "doubled admission job-0-1", twice("jobs")],
    [
      "the units of a charge",
      "doubled charge job-0-1",
      (world) => void (row(world, "jobs")["usedUnits"] = 42),
    ],
    ["an extension", "doubled extension job-0-1", (world) => void (row(world, "jobs")["heldUnits"] = 70)],
    ["the entry of a job", "doubled entry job1", twice("entries")],
    [
      "use in a budget",
      "doubled budget account1 2026-12",
      (world) => void (row(world, "budgets")["usedUnits"] = 60),
    ],
    [
      "a click under another key",
      "doubled click https://chaos.example/run/0/1",
      twice("entries", 1, { key: "other" }),
    ],
    [
      "a click that was never answered",
      "doubled click https://chaos.example/run/0/1",
      (world) => {
        world.journal.clicks[0] = { ...world.journal.clicks[0]!, answered: false };
        twice("entries", 1, { key: "other" })(world);
      },
    ],
    ["a counter", "doubled counters clicks", twice("shards", 1)],
    ["the total of a link", "doubled total of a link link1", twice("linkTotals")],
    [
      "units at the meter",
      "doubled meter ag_1 tokens",
      ({ provider }) => void (provider.meters[0]!.totalUnits = 60),
    ],
    [
      "an event at the provider",
      "doubled told event customer_1 customer.payment_succeeded",
      ({ provider }) => void provider.told.push({ ...provider.told[0]! }),
    ],
    ["a webhook", "doubled webhook event_paid", twice("inboxEvents", 1)],
    ["a payment", "doubled payment event_paid", twice("payments")],
    ["a plan fact", "doubled plan fact event_created", twice("planChanges")],
    ["a grant", "doubled credits kp_1", twice("credits", 0, { entryKey: "other" })],
    ["a customer", "doubled customer kp_1", twice("accounts")],
  ])("%s", (_, finding, plant) => {
    expect(found(planted(plant))).toContain(finding);
  });
});

describe("what is otherwise wrong is found:", () => {
  test.each<[string, string, (world: SmallWorld) => void]>([
    ["a job that nobody asked for", "wrong job account1 job-0-1", ({ journal }) => void journal.jobs.pop()],
    [
      "a job that still runs",
      "wrong job job-0-1",
      (world) => void (row(world, "jobs")["status"] = "running"),
    ],
    [
      "a hold in the end",
      "wrong budget account1 2026-12",
      (world) => void (row(world, "budgets")["heldUnits"] = 1),
    ],
    ["a refused job that is there", "wrong refusal job-0-1", (world) => void (job(world).refused = true)],
    ["a step that nobody sent", "wrong charge job-0-1", (world) => void (row(world, "jobs")["step"] = 3)],
    [
      "use over the limit",
      "wrong limit account1 2026-12",
      (world) => void (row(world, "limits")["limitUnits"] = 29),
    ],
    ["an entry of no job", "wrong entry job1", (world) => void world.tables["jobs"]!.pop()],
    [
      "a click that nobody made",
      "wrong click https://chaos.example/run/0/2",
      ({ journal }) => void journal.clicks.pop(),
    ],
    ["a plan", "wrong plan kp_1", (world) => void (row(world, "accounts")["planKey"] = "customer_free_plan")],
    ["an agreement", "wrong agreement kp_1", (world) => void (row(world, "agreements")["untilMs"] = 1)],
    ["a repaired budget", "wrong audit in the end", ({ lastWords }) => void (lastWords.budgetsRepaired = 1)],
    ["a strange answer", "wrong answer job-0-1", ({ journal }) => void journal.strange.push("job-0-1: 404")],
    [
      "clicks set aside as refused",
      "wrong spool a.refused",
      ({ spoolFiles }) => void spoolFiles.push("a.refused"),
    ],
  ])("%s", (_, finding, plant) => {
    expect(found(planted(plant))).toContain(finding);
  });
});

describe("what was sent and not answered", () => {
  test("may be there", () => {
    const world = planted((it) => {
      const note = job(it);
      it.journal.jobs[0] = {
        ...note,
        admitted: null,
        steps: note.steps.map((step) => ({ ...step, chargedUnits: null })),
        extensions: [{ units: 10, answered: false }],
        ended: null,
      };
      it.journal.clicks[0] = { ...it.journal.clicks[0]!, answered: false };
      it.journal.events[0] = { ...it.journal.events[0]!, eventId: null };
    });
    expect(found(world)).toEqual([]);
  });

  test("may be missing: an extension", () => {
    const world = planted((it) => {
      it.journal.jobs[0] = { ...job(it), extensions: [{ units: 10, answered: false }], ended: null };
      row(it, "jobs")["heldUnits"] = 50;
    });
    expect(found(world)).toEqual([]);
  });

  test("may be missing: a settle, where the lease ended the job with what was charged", () => {
    const world = planted((it) => {
      job(it).ended = null;
      Object.assign(row(it, "jobs"), { status: "expired", usedUnits: 20 });
      row(it, "entries")["units"] = 20;
      row(it, "budgets")["usedUnits"] = 20;
      row(it, "shards")["units"] = 20;
      row(it, "reports")["state"] = { confirmed: { totalUnits: 20 } };
      it.provider.meters[0]!.totalUnits = 20;
    });
    expect(found(world)).toEqual([]);
  });
});

describe("rest", () => {
  test("a run that ended well is at rest", () => {
    expect(whatWaits(remainsOf(smallWorld()))).toBeNull();
  });

  test.each<[string, (world: SmallWorld) => void]>([
    ["1 files of clicks", ({ spoolFiles }) => void spoolFiles.push("a.00000001.clicks")],
    ["1 webhooks to deliver", ({ provider }) => void (provider.deliveries[0]!.status = "pending")],
    ["1 events, one is failed", (world) => void (row(world, "inboxEvents")["status"] = "failed")],
    ["1 running jobs", (world) => void (row(world, "jobs")["status"] = "running")],
    ["1 meters to report", ({ tables }) => void (tables["marks"] = [{ meterId: "tokens" }])],
    ["1 totals under way", (world) => void (row(world, "reports")["leaseExpiresAtMs"] = 1)],
  ])("is not there with %s", (waiting, plant) => {
    expect(whatWaits(remainsOf(planted(plant)))).toBe(waiting);
  });
});
