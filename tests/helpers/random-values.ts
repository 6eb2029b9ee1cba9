import type { Value } from "convex/values";

/** A seeded generator (mulberry32): the same seed gives the same values, so a failure can be repeated. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  255,
  256,
  1e300,
  -1e300,
  5e-324,
  -5e-324,
  Number.NaN,
  Infinity,
  -Infinity,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  Number.MAX_VALUE,
  1769815800000.25,
];
const INTEGERS = [0n, 1n, -1n, 127n, 128n, 255n, 256n, -128n, -129n, -256n, (1n << 63n) - 1n, -(1n << 63n)];
// NUL, 0x01 and 0xFF probe the escapes; U+FFFD and an emoji differ between UTF-16 and UTF-8 order.
const CHARS = [
  "\0",
  "\u0001",
  "\u000f",
  "a",
  "b",
  "z",
  "\u007f",
  "é",
  "ÿ",
  "߿",
  "ࠀ",
  "\ud7ff",
  "\ue000",
  "\ufffd",
  "😀",
];
const FIELDS = ["a", "b", "ab", "a b", "A", "zz", "~", "toString", "constructor", "~~"];

/** Random Convex values that lean towards the borders of each type and share prefixes often. */
export class RandomValues {
  constructor(private readonly random: () => number) {}

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  text(): string {
    return Array.from({ length: this.below(5) }, () => this.pick(CHARS)).join("");
  }

  bytes(): ArrayBuffer {
    return Uint8Array.from({ length: this.below(4) }, () => this.pick([0, 1, 16, 127, 128, 254, 255])).buffer;
  }

  number(): number {
    if (this.random() < 0.6) return this.pick(NUMBERS);
    const scratch = new DataView(new ArrayBuffer(8));
    scratch.setUint32(0, this.below(2 ** 32));
    scratch.setUint32(4, this.below(2 ** 32));
    const value = scratch.getFloat64(0);
    // Other NaNs are kept out: JavaScript does not promise to carry their bits around.
    return Number.isNaN(value) ? Number.NaN : value;
  }

  integer(): bigint {
    if (this.random() < 0.6) return this.pick(INTEGERS);
    return BigInt.asIntN(64, (BigInt(this.below(2 ** 32)) << 32n) | BigInt(this.below(2 ** 32)));
  }

  value(depth = 3): Value {
    switch (this.below(depth > 0 ? 8 : 6)) {
      case 0:
        return this.random() < 0.5 ? null : this.random() < 0.5;
      case 1:
        return this.integer();
      case 2:
      case 3:
        return this.number();
      case 4:
        return this.text();
      case 5:
        return this.bytes();
      case 6:
        return Array.from({ length: this.below(4) }, () => this.value(depth - 1));
      default:
        return this.object(depth);
    }
  }

  object(depth = 3): Record<string, Value> {
    const object: Record<string, Value> = {};
    for (let i = this.below(4); i > 0; i--) object[this.pick(FIELDS)] = this.value(depth - 1);
    return object;
  }
}
