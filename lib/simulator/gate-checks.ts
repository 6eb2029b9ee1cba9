import type { Change, Mirror, Row } from "./mirror.ts";
import { named, Sums, Unique } from "./sums.ts";
import { check } from "./violation.ts";

interface JobRow extends Row {
  readonly accountId: string;
  readonly feature: string;
  readonly cycle: string;
  readonly status: string;
  readonly heldUnits: number;
  readonly usedUnits: number;
}

interface EntryRow extends Row {
  readonly accountId: string;
  readonly feature: string;
  readonly budgetCycle: string | null;
  readonly units: number;
}

const limitName = named("accountId", "feature");
const budgetName = named("accountId", "feature", "cycle");

/** What is never true of holds, budgets and jobs (design §4, §11), checked at every commit. */
export class GateChecks {
  private readonly held = new Sums();
  private readonly used = new Sums();
  private readonly limits = new Unique("limits", limitName);
  private readonly budgets = new Unique("budgets", budgetName);
  private readonly unique = [
    new Unique("jobs", named("accountId", "key")),
    new Unique("billing", named("accountId")),
    this.limits,
    this.budgets,
  ];

  constructor(private readonly mirror: Mirror) {}

  /** `isCommit`: these changes are one transaction, not the rows that an engine was opened with. */
  apply(changes: readonly Change[], isCommit: boolean): void {
    const touched = new Set<string>();
    const raised: JobRow[] = [];
    for (const change of changes) {
      for (const unique of this.unique) unique.apply(change);
      if (change.table === "jobs") this.job(change, touched, raised, isCommit);
      else if (change.table === "entries") this.entry(change, touched);
      else if (change.table === "budgets") touched.add(budgetName((change.after ?? change.before)!));
      else if (change.table === "billing" && change.after !== null) checkRate(change.after);
    }
    for (const name of touched) this.budget(name);
    if (isCommit) for (const job of raised) this.limit(job);
  }

  private job({ before, after }: Change, touched: Set<string>, raised: JobRow[], isCommit: boolean): void {
    const [from, to] = [before, after] as (JobRow | null)[];
    for (const [row, sign] of [[from, -1] as const, [to, 1] as const]) {
      if (row?.status !== "running") continue;
      this.held.add(budgetName(row), sign * row.heldUnits);
    }
    check(to !== null, "a job is never deleted", () => JSON.stringify(from));
    touched.add(budgetName(to!));
    check(to!.usedUnits <= to!.heldUnits, "a job uses no more than it held", () => JSON.stringify(to));
    if (isCommit && to!.status === "running" && to!.heldUnits > (from?.heldUnits ?? 0)) raised.push(to!);
    if (from === null || from!.status === "running") return;
    const { runnerStepId: _was, ...was } = from as Row;
    const { runnerStepId: _is, ...is } = to as Row;
    check(JSON.stringify(was) === JSON.stringify(is), "a job that ended stays as it ended", () =>
      [JSON.stringify(was), JSON.stringify(is)].join(" became "),
    );
  }

  private entry({ before, after }: Change, touched: Set<string>): void {
    for (const [row, sign] of [[before, -1] as const, [after, 1] as const]) {
      const entry = row as EntryRow | null;
      if (entry === null || entry.budgetCycle === null) continue;
      const name = budgetName({ ...entry, cycle: entry.budgetCycle });
      this.used.add(name, sign * entry.units);
      touched.add(name);
    }
  }

  private budget(name: string): void {
    const id = this.budgets.idOf(name);
    const row = id === undefined ? null : this.mirror.rows("budgets").get(id)!;
    const is = { used: (row?.["usedUnits"] ?? 0) as number, held: (row?.["heldUnits"] ?? 0) as number };
    const ought = { used: this.used.of(name), held: this.held.of(name) };
    check(
      is.held === ought.held,
      "held is the sum of the running jobs",
      () => `${name} says ${is.held}, its jobs hold ${ought.held}`,
    );
    check(
      is.used === ought.used,
      "used is the sum of the entries",
      () => `${name} says ${is.used}, its entries come to ${ought.used}`,
    );
  }

  /** Read in the transaction that raised the hold, so what is stored with it is what it read. */
  private limit(job: JobRow): void {
    const limit = this.mirror.rows("limits").get(this.limits.idOf(limitName(job)) ?? "");
    const budget = this.mirror.rows("budgets").get(this.budgets.idOf(budgetName(job)) ?? "");
    check(
      limit !== undefined && typeof limit["readAtMs"] === "number",
      "a hold needs a limit that was read",
      () => JSON.stringify(job),
    );
    const { limitUnits } = limit as unknown as { limitUnits: number | null };
    const sum = (budget?.["usedUnits"] as number) + (budget?.["heldUnits"] as number);
    check(
      limitUnits === null || sum <= limitUnits,
      "used + held is within the limit it was checked against",
      () => `${budgetName(job)}: ${sum} of ${limitUnits} with job ${job._id}`,
    );
  }
}

function checkRate(billing: Row): void {
  const { count, limitPerMinute } = billing as unknown as { count: number; limitPerMinute: number };
  check(count <= limitPerMinute, "new jobs of a minute are within the rate", () => JSON.stringify(billing));
}
