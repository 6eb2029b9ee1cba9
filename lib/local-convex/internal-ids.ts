/**
 * Internal ids: 8 bytes of creation time (order preserving), then 8 random bytes. Creation times are unique
 * and increasing, so the documents table in id order is the table in creation order.
 */
import type { Random } from "./random.ts";
import type { Storage } from "./storage.ts";
import { encodeCreationTime } from "./values/order-key.ts";

const view = new DataView(new ArrayBuffer(8));

/** The next larger double of a positive number. */
function nextUp(value: number): number {
  view.setFloat64(0, value);
  view.setBigUint64(0, view.getBigUint64(0) + 1n);
  return view.getFloat64(0);
}

export class InternalIds {
  private lastCreationMs: number;

  constructor(
    storage: Storage,
    private readonly random: Random,
  ) {
    // Commits stamp wall time, so nothing stored is newer than the last timestamp by more than its own writes.
    this.lastCreationMs = Number(BigInt(storage.getMeta("last_ts") ?? "0") / 1_000n) / 1_000;
  }

  next(nowMs: number): { internalId: string; creationTimeMs: number } {
    const creationTimeMs = nowMs > this.lastCreationMs ? nowMs : nextUp(this.lastCreationMs);
    this.lastCreationMs = creationTimeMs;
    const { random } = this;
    const tail = bytes(random.nextUint32()) + bytes(random.nextUint32());
    return { internalId: encodeCreationTime(creationTimeMs).slice(1) + tail, creationTimeMs };
  }
}

function bytes(word: number): string {
  return String.fromCharCode(word >>> 24, (word >>> 16) & 0xff, (word >>> 8) & 0xff, word & 0xff);
}
