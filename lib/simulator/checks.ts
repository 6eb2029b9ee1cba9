import type { Engine } from "../local-convex/engine.ts";
import type { WrittenKeys } from "../local-convex/read-set.ts";
import { GateChecks } from "./gate-checks.ts";
import { InboxChecks } from "./inbox-checks.ts";
import { LedgerChecks, type OutsideMeters } from "./ledger-checks.ts";
import { Mirror, type Change } from "./mirror.ts";
import { check, Violation } from "./violation.ts";

interface Promised {
  readonly table: string;
  readonly field: string;
  readonly value: string;
}

/** All that is checked at every commit, and what was promised to somebody and has to outlive a crash. */
export class Checks {
  mirror = new Mirror();
  /** Commits that were checked. */
  commits = 0;
  private all: ReturnType<Checks["checksOf"]>;
  private readonly promises: Promised[] = [];

  /** `onViolation` gets the first one, and whatever else went wrong in a check. */
  constructor(
    private readonly outside: OutsideMeters,
    private readonly nowMs: () => number,
    private readonly onViolation: (violation: Error) => void,
  ) {
    this.all = this.checksOf(this.mirror);
  }

  /** An answer went out that says that there is a row of this. */
  promise(table: string, field: string, value: string): void {
    this.promises.push({ table, field, value });
  }

  /** After an engine was opened: what it has is looked at as a whole. */
  opened(engine: Engine): void {
    this.guarded(() => {
      this.mirror = new Mirror();
      this.all = this.checksOf(this.mirror);
      this.apply(this.mirror.readAll(engine), false);
      this.keepPromises();
    });
  }

  committed(engine: Engine, written: WrittenKeys): Change[] {
    let changes: Change[] = [];
    this.guarded(() => {
      this.commits += 1;
      changes = this.mirror.follow(engine, written);
      this.apply(changes, true);
    });
    return changes;
  }

  keepPromises(): void {
    const values = new Map<string, Set<unknown>>();
    for (const { table, field, value } of this.promises) {
      const name = `${table} ${field}`;
      let known = values.get(name);
      if (known === undefined) {
        known = new Set([...this.mirror.rows(table).values()].map((row) => row[field]));
        values.set(name, known);
      }
      check(known.has(value), "what was answered is there after a crash", () => `${table} ${field} ${value}`);
    }
  }

  private apply(changes: readonly Change[], isCommit: boolean): void {
    for (const one of this.all) one.apply(changes, isCommit);
  }

  /** Inside of a commit nothing may throw: the engine would take it for a fault of its database. */
  private guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.onViolation(error instanceof Error ? error : new Violation("a check works", String(error)));
    }
  }

  private checksOf(mirror: Mirror) {
    return [
      new GateChecks(mirror),
      new LedgerChecks(mirror, this.outside, this.nowMs),
      new InboxChecks(this.nowMs),
    ];
  }
}
