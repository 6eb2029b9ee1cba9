/** Deterministic random numbers (xoshiro128**), seeded per transaction so that one run always sees the same. */
export interface Random {
  /** 0 <= x < 1 with 53 bits. */
  next(): number;
  /** 32 random bits. */
  nextUint32(): number;
}

export function seededRandom(seed: number): Random {
  // splitmix32 spreads a small seed over the whole state.
  let mixer = seed >>> 0;
  const mix = (): number => {
    mixer = (mixer + 0x9e3779b9) >>> 0;
    let z = mixer;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
  let a = mix();
  let b = mix();
  let c = mix();
  let d = mix();
  const rotate = (x: number, k: number): number => ((x << k) | (x >>> (32 - k))) >>> 0;
  const nextUint32 = (): number => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotate(d, 11);
    return result;
  };
  return {
    nextUint32,
    next: () => ((nextUint32() >>> 5) * 0x4000000 + (nextUint32() >>> 6)) / 0x20000000000000,
  };
}
