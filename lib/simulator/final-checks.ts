/** What has to be true once everything has come to rest: ledger, counters, what was sent and the meter are one number. */
import type { ReportState } from "../ledger/report-state.ts";
import { DEFAULT_ALLOWANCES, periodAt } from "../inbox/allowance.ts";
import { cycleByName } from "../ledger/cycle.ts";
import type { Row } from "./mirror.ts";
import type { Actor, Scene } from "./perform.ts";
import type { Customer } from "./provider.ts";
import { Sums } from "./sums.ts";
import { check } from "./violation.ts";
import type { World } from "./world.ts";

interface MeterRow extends Row {
  readonly accountId: string;
  readonly agreementId: string | null;
  readonly feature: string;
  readonly cycle: string;
  readonly cycleStartMs: number;
  readonly cycleEndMs: number;
}

const SETTLED_EVENTS = new Set(["applied", "ignored"]);

export function checkRest(scene: Scene): void {
  const { world } = scene;
  const rows = (table: string): Row[] => [...world.checks.mirror.rows(table).values()];
  const none = (found: readonly Row[], rule: string): void =>
    check(found.length === 0, rule, () => JSON.stringify(found[0]));
  world.checks.keepPromises();
  none(
    rows("budgets").filter(({ heldUnits }) => heldUnits !== 0),
    "in the end nothing is held",
  );
  none(
    rows("jobs").filter(({ status }) => status === "running"),
    "in the end no job is running",
  );
  none(rows("marks"), "in the end no meter is marked");
  none(
    rows("reports").filter(({ leaseExpiresAtMs }) => leaseExpiresAtMs !== null),
    "in the end nothing is being sent",
  );
  none(
    rows("inboxEvents").filter(({ status }) => !SETTLED_EVENTS.has(status as string)),
    "in the end every event is settled",
  );
  none(
    rows("runs").filter(({ status }) => status !== "good"),
    "in the end every worker's last run was good",
  );
  const sums = ledgerSums(world);
  for (const meter of rows("meters") as MeterRow[]) checkMeter(scene, meter, sums);
  for (const actor of scene.actors) checkActor(world, actor);
}

/**
 * Before anybody reconciles: the reporter alone brings every open meter to its ledger that nobody else wrote to. An older
 * write that lands while a meter closes is found by the reconciler, which puts it before a person.
 */
export function checkReporter(scene: Scene): void {
  const { checks, provider } = scene.world;
  const sums = ledgerSums(scene.world);
  for (const meter of checks.mirror.rows("meters").values() as IterableIterator<MeterRow>) {
    const { agreementId, feature } = meter;
    if (agreementId !== null && isClosed(scene.world, meter)) continue;
    if (!provider.isWrittenByOthers(agreementId ?? "", feature)) checkMeter(scene, meter, sums);
  }
}

function ledgerSums({ checks }: World): { readonly entries: Sums; readonly counters: Sums } {
  const [entries, counters] = [new Sums(), new Sums()];
  for (const row of checks.mirror.rows("entries").values())
    entries.add(row["meterId"] as string, row["units"] as number);
  for (const row of checks.mirror.rows("shards").values())
    counters.add(row["meterId"] as string, row["units"] as number);
  return { entries, counters };
}

function checkMeter(
  { world, actors }: Scene,
  meter: MeterRow,
  { entries, counters }: { readonly entries: Sums; readonly counters: Sums },
): void {
  const { _id: id, agreementId, feature, cycle } = meter;
  const { mirror } = world.checks;
  const ledgerUnits = entries.of(id);
  const state = [...mirror.rows("reports").values()].find(({ meterId }) => meterId === id)?.["state"] as
    | ReportState
    | undefined;
  const sentUnits = state?.confirmed?.totalUnits ?? 0;
  const meterUnits = outsideUnits(world, meter);
  const numbers = { ledgerUnits, counterUnits: counters.of(id), sentUnits, meterUnits };
  const name = `${actors.find(({ accountId }) => accountId === meter.accountId)?.name} ${feature} ${cycle} ${agreementId}`;
  const tell = (): string => `${name}: ${JSON.stringify(numbers)}`;
  check(numbers.counterUnits === ledgerUnits, "in the end the counters are the ledger", tell);
  if (agreementId === null) {
    check(ledgerUnits === 0, "in the end nothing is counted under no agreement", tell);
    return;
  }
  const isEqual = sentUnits === ledgerUnits && meterUnits === ledgerUnits;
  if (isEqual || (isClosed(world, meter) && isReviewed(world, id, ledgerUnits))) return;
  check(false, "in the end ledger, sent and meter are one number", tell);
}

/** What the meter outside shows for the cycle of this one. */
function outsideUnits({ provider, checks }: World, meter: MeterRow): number {
  const agreement = provider.find(meter.agreementId ?? "");
  if (agreement !== null) return provider.totalAt(agreement, meter.feature, meter.cycleStartMs) ?? 0;
  const fixed = [...checks.mirror.rows("fixedTotals").values()].find(({ meterId }) => meterId === meter._id);
  return (fixed?.["totalUnits"] ?? 0) as number;
}

function isClosed({ provider, clock }: World, meter: MeterRow): boolean {
  const endedAtMs = provider.find(meter.agreementId!)?.endedAtMs ?? null;
  return meter.cycleEndMs <= clock.nowMs() || (endedAtMs !== null && endedAtMs <= clock.nowMs());
}

interface ReviewRow extends Row {
  readonly status: string;
  readonly detail: string;
  readonly late: { readonly ledgerUnits: number } | null;
}

/** A person is being told, or has decided on this very total: what was decided on another one settles nothing. */
function isReviewed({ checks }: World, meterId: string, ledgerUnits: number): boolean {
  const reviews = [...checks.mirror.rows("reviews").values()] as ReviewRow[];
  return reviews
    .filter(({ subject }) => subject === meterId)
    .some(
      ({ status, late, detail }) =>
        status === "open" ||
        late?.ledgerUnits === ledgerUnits ||
        (late === null && detail.endsWith(`the ledger ${ledgerUnits}`)),
    );
}

function checkActor(world: World, actor: Actor): void {
  const { accountId, customer, name } = actor;
  if (customer === null) return;
  const { mirror } = world.checks;
  const account = mirror.rows("accounts").get(accountId)!;
  const current = world.provider.current(customer)!;
  const tell = (what: unknown) => () =>
    `${name}: ${JSON.stringify(what)}, at the provider ${JSON.stringify(current)}`;
  check(account["planKey"] === current.planKey, "in the end the plan is the provider's", tell(account));
  const agreements = [...mirror.rows("agreements").values()].filter((row) => row["accountId"] === accountId);
  const inForce = agreements.filter(({ untilMs }) => untilMs === null).map(({ agreementId }) => agreementId);
  check(
    JSON.stringify(inForce) === JSON.stringify([current.id]),
    "in the end the agreement is the provider's",
    tell(agreements),
  );
  const limit = [...mirror.rows("limits").values()].find((row) => row["accountId"] === accountId);
  const plan = world.provider.catalogue.plans.find(({ key }) => key === current.planKey)!;
  const units = plan.features.find(({ key }) => key === "tokens")!.limit;
  check(limit?.["limitUnits"] === units, "in the end the limit is the plan's", tell(limit));
  checkCredits(world, actor, customer);
}

/** Where an event was lost for good, a plan of a few seconds may never have been heard of. */
function checkCredits(world: World, { accountId, name }: Actor, { customerId }: Customer): void {
  const { checks, courier, clock } = world;
  const granted = new Sums();
  granted.add(periodAt(clock.nowMs()), 0);
  for (const row of checks.mirror.rows("credits").values()) {
    if (row["accountId"] !== accountId || row["reason"] !== "grant") continue;
    granted.add(row["period"] as string, row["units"] as number);
  }
  for (const period of granted.names()) {
    const units = granted.of(period);
    const most = bestAllowance(world, customerId, period);
    const isRight = courier.lost > 0 ? units <= most : units === most;
    check(
      isRight,
      "in the end the credits are those of the best plan of the month",
      () => `${name} ${period}: ${units} granted, the best plan gives ${most}`,
    );
  }
}

function bestAllowance({ provider }: World, customerId: string, period: string): number {
  const { startMs, endMs } = cycleByName(null, period)!;
  const plans = provider.agreements.filter(
    (one) =>
      one.customerId === customerId &&
      one.startedAtMs < endMs &&
      (one.endedAtMs === null || one.endedAtMs > startMs),
  );
  return Math.max(...plans.map(({ planKey }) => DEFAULT_ALLOWANCES.unitsByPlan[planKey]!));
}
