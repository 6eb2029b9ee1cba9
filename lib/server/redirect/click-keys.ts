const KEY_BYTES = 16;
/** Randomness is drawn for so many keys at once: a draw costs as much as many keys. */
const KEYS_PER_DRAW = 256;

/** Makes keys of 128 random bits in hex. `fill` fills its argument with unpredictable bytes. */
export function clickKeys(fill: (bytes: Buffer) => unknown): () => string {
  const pool = Buffer.alloc(KEY_BYTES * KEYS_PER_DRAW);
  let next = pool.length;
  return () => {
    if (next === pool.length) {
      fill(pool);
      next = 0;
    }
    const start = next;
    next += KEY_BYTES;
    return pool.toString("hex", start, next);
  };
}
