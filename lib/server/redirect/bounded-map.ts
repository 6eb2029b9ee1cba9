import { assert } from "../../shared/assert.ts";

export interface MapBounds {
  readonly entriesMax: number;
  /** Of all values together. One value above it is not kept at all. */
  readonly bytesMax: number;
}

/** A map that forgets what was used least recently when it passes its bounds. */
export class BoundedMap<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly bytes: number }>();
  readonly #bounds: MapBounds;
  #bytes = 0;

  constructor(bounds: MapBounds) {
    assert(bounds.entriesMax >= 1, `a bounded map needs room for one entry, not ${bounds.entriesMax}`);
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The value, which then counts as just used. */
  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // A Map iterates in the order of insertion: the first entry is always the one used least recently.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** `bytes` is the caller's estimate of what key and value take. */
  set(key: string, value: V, bytes: number): void {
    this.delete(key);
    if (bytes > this.#bounds.bytesMax) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#bounds.entriesMax && this.#bytes <= this.#bounds.bytesMax) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#bytes -= entry.bytes;
    this.#entries.delete(key);
  }
}
