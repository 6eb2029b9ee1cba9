import { seededRandom, type Random } from "../local-convex/random.ts";

/** What of a run is left to chance, and all of it repeatable. */
export class Chance {
  private readonly random: Random;

  constructor(private readonly seed: number) {
    this.random = seededRandom(seed);
  }

  /** Another source for another purpose: what one draws does not change what the other does. */
  fork(purpose: string): Chance {
    let hash = this.seed ^ 0x811c9dc5;
    for (const char of purpose) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
    return new Chance(hash >>> 0);
  }

  /** 0 <= x < 1. */
  share(): number {
    return this.random.next();
  }

  /** A whole number from 0 up to but not including `end`. */
  below(end: number): number {
    return Math.floor(this.random.next() * end);
  }

  /** A whole number from `first` to `last`, both included. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  /** True with this probability. */
  strikes(probability: number): boolean {
    return this.random.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  /** One of the names, each as likely as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const names = Object.keys(weights) as Name[];
    let left = this.random.next() * names.reduce((sum, name) => sum + weights[name], 0);
    for (const name of names) {
      left -= weights[name];
      if (left < 0) return name;
    }
    return names.at(-1)!;
  }

  uint32(): number {
    return this.random.nextUint32();
  }
}
