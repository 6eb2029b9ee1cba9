// What a comparison found. `lost`: answered and not there. `doubled`: there more often than it was done. `wrong`: else.
export type FindingKind = "lost" | "doubled" | "wrong";

export interface Finding {
  readonly kind: FindingKind;
  /** Of what: "admission", "click" and so on. */
  readonly what: string;
  /** Enough to find it in the journal or in the database. */
  readonly id: string;
  readonly detail: string;
}

export class Findings {
  readonly all: Finding[] = [];

  lost(what: string, id: string, detail: string): void {
    this.all.push({ kind: "lost", what, id, detail });
  }

  doubled(what: string, id: string, detail: string): void {
    this.all.push({ kind: "doubled", what, id, detail });
  }

  wrong(what: string, id: string, detail: string): void {
    this.all.push({ kind: "wrong", what, id, detail });
  }

  /** `actual` is less than what was answered: lost. More: doubled. */
  compare(what: string, id: string, expected: number, actual: number): void {
    const detail = `${expected} expected, ${actual} there`;
    if (actual < expected) this.lost(what, id, detail);
    else if (actual > expected) this.doubled(what, id, detail);
  }
}

/** Rows by a name made of them. */
export function grouped<Item>(items: Iterable<Item>, nameOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const name = nameOf(item);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return groups;
}

export function sumOf<Item>(items: Iterable<Item>, unitsOf: (item: Item) => number): number {
  let sum = 0;
  for (const item of items) sum += unitsOf(item);
  return sum;
}
