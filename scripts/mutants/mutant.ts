/** A rule of the product, broken. Each list is one system; `catalogue.ts` has them all. */
export type System = "gate" | "ledger" | "inbox" | "access";

export interface Mutant {
  /** Unique, beginning with its system. */
  readonly id: string;
  readonly system: System;
  /** From the root of the repository. */
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly original: string;
  readonly replacement: string;
  /** What is not so any more. */
  readonly breaks: string;
  /** Under tests/, the fast ones first: one of them has to fail. What passes them all goes to the simulator. */
  readonly tests: readonly string[];
}

type Fields = readonly [
  id: string,
  file: string,
  original: string,
  replacement: string,
  breaks: string,
  tests: readonly string[],
];

/** A list of one system, a line of values each. */
export function mutantsOf(system: System, list: readonly Fields[]): readonly Mutant[] {
  return list.map(([id, file, original, replacement, breaks, tests]) => {
    return { id: `${system}/${id}`, system, file, original, replacement, breaks, tests };
  });
}
