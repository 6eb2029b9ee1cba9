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

/** The creation time that an internal id begins with: a positive number, whose sign bit was flipped. */
function decodeCreationTime(internalId: string): number {
  const bytes = Buffer.from(internalId.slice(0, 8), "latin1");
  bytes[0]! &= 0x7f;
  return bytes.readDoubleBE(0);
}

export class InternalIds {
  private lastCreationMs: number;

  constructor(
    storage: Storage,
    tableNumbers: readonly number[],
    private readonly random: Random,
  ) {
    const newest = tableNumbers.map((number) => storage.lastInternalId(number)).filter((id) => id !== null);
    this.lastCreationMs = Math.max(0, ...newest.map(decodeCreationTime));
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
