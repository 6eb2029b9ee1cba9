import type { Change, Row } from "./mirror.ts";
import { check } from "./violation.ts";

/** Sums by name. */
export class Sums {
  private readonly sums = new Map<string, number>();

  add(name: string, units: number): void {
    this.sums.set(name, this.of(name) + units);
  }

  of(name: string): number {
    return this.sums.get(name) ?? 0;
  }

  names(): IterableIterator<string> {
    return this.sums.keys();
  }
}

/** Rows that there is one of for each name, at most. */
export class Unique {
  private readonly ids = new Map<string, string>();

  constructor(
    private readonly table: string,
    private readonly nameOf: (row: Row) => string | null,
  ) {}

  apply({ table, id, before, after }: Change): void {
    if (table !== this.table) return;
    const [from, to] = [before, after].map((row) => (row === null ? null : this.nameOf(row)));
    if (from !== null && from !== undefined && this.ids.get(from) === id) this.ids.delete(from);
    if (to === null || to === undefined) return;
    const known = this.ids.get(to);
    check(
      known === undefined || known === id,
      `one row of ${table}`,
      () => `two of ${to}: ${known} and ${id}`,
    );
    this.ids.set(to, id);
  }

  idOf(name: string): string | undefined {
    return this.ids.get(name);
  }
}

/** The name of a row made of some of its fields. */
export function named(...fields: string[]): (row: Row) => string {
  return (row) => fields.map((field) => String(row[field])).join("|");
}
