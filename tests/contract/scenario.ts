import type { ContractEngine, EngineName } from "./engines.ts";

/** One guarantee, checked unchanged on every engine. */
export interface Scenario {
  readonly name: string;
  run(engine: ContractEngine): Promise<void>;
}

/** A scenario that an engine is known to answer differently from real Convex. */
export interface Exception {
  readonly scenario: string;
  readonly engine: EngineName;
  /** What real Convex does, with the section of the fact sheet. */
  readonly why: string;
}
