import type { Engine } from "../local-convex/engine.ts";
import type { WrittenKeys } from "../local-convex/read-set.ts";
import { GateChecks } from "./gate-checks.ts";
import { Mirror, type Change } from "./mirror.ts";
import { check, Violation } from "./violation.ts";

/** All that is checked at every commit, and what was promised to somebody and has to outlive a crash. */
export class Checks {
  mirror = new Mirror();
  /** Commits that were checked. */
  commits = 0;
  private gate = new GateChecks(this.mirror);
  private readonly promises: { readonly table: string; readonly id: string; readonly what: string }[] = [];

  /** `onViolation` gets the first one, and whatever else went wrong in a check. */
  constructor(private readonly onViolation: (violation: Error) => void) {}

  /** An answer went out that says this row is there. */
  promise(table: string, id: string, what: string): void {
    this.promises.push({ table, id, what });
  }

  /** After an engine was opened: what it has is looked at as a whole. */
  opened(engine: Engine): void {
    this.guarded(() => {
      this.mirror = new Mirror();
      this.gate = new GateChecks(this.mirror);
      this.apply(this.mirror.readAll(engine), false);
      for (const { table, id, what } of this.promises) {
        check(
          this.mirror.rows(table).has(id),
          "what was answered is there after a crash",
          () => `${what}: ${id}`,
        );
      }
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

  private apply(changes: readonly Change[], isCommit: boolean): void {
    this.gate.apply(changes, isCommit);
  }

  /** Inside of a commit nothing may throw: the engine would take it for a fault of its database. */
  private guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.onViolation(error instanceof Error ? error : new Violation("a check works", String(error)));
    }
  }
}
