import { closeSync, fdatasync, fsyncSync, ftruncateSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { must } from "../../shared/assert.ts";
import { FILE_MODE, removeFile, writeAll, type WriteBytes } from "./spool-files.ts";

const syncData = promisify(fdatasync);

/**
 * One spool file. It is removed when nothing more is written to it and every record in it is in the ledger.
 * Warm: its clicks are in memory as well. Cold: they are in this file only, until it is loaded.
 */
export class Segment {
  readonly path: string;
  /** False while its clicks are in no memory. */
  isWarm: boolean;
  records = 0;
  bytes = 0;
  #unacknowledged = 0;
  #fd: number | null = null;
  #isSealed: boolean;
  #syncs = 0;
  readonly #onRemoved: (() => void) | null;

  private constructor(path: string, fd: number | null, isWarm: boolean, onRemoved: (() => void) | null) {
    this.path = path;
    this.#fd = fd;
    this.#isSealed = fd === null;
    this.isWarm = isWarm;
    this.#onRemoved = onRemoved;
  }

  /** Makes the file. With `durable` its name, too, survives a loss of power. Throws what the system says. */
  static create(path: string, isWarm: boolean, durable: boolean): Segment {
    const fd = openSync(path, "ax", FILE_MODE);
    if (durable) syncFolder(dirname(path));
    return new Segment(path, fd, isWarm, null);
  }

  /** A file that another process wrote. */
  static adopt(path: string, onRemoved: () => void): Segment {
    return new Segment(path, null, false, onRemoved);
  }

  /**
   * Appends whole records in one write. When it throws, none of them counts and the segment is sealed: what part of
   * them reached the file is cut off again, or left for the reader to find damaged.
   */
  append(bytes: Buffer, records: number, write: WriteBytes): void {
    const fd = this.#openFd();
    try {
      writeAll(fd, bytes, write);
    } catch (error) {
      this.#cutBack(fd);
      this.seal();
      throw error;
    }
    this.bytes += bytes.length;
    this.records += records;
    this.#unacknowledged += records;
  }

  /** Resolves when what was appended survives a loss of power. Rejects with what the system says. */
  async sync(): Promise<void> {
    const fd = this.#openFd();
    this.#syncs += 1;
    try {
      await syncData(fd);
    } finally {
      this.#syncs -= 1;
      this.#closeWhenIdle();
    }
  }

  /** Nothing more is written to it. */
  seal(): void {
    if (this.#isSealed) return;
    this.#isSealed = true;
    this.#closeWhenIdle();
    this.#removeWhenDone();
  }

  /** A cold segment's clicks are in memory from now on. */
  loaded(records: number): void {
    this.isWarm = true;
    this.records = records;
    this.#unacknowledged = records;
    this.#removeWhenDone();
  }

  /** So many of its records need no file any more. */
  acknowledge(records: number): void {
    this.#unacknowledged -= records;
    this.#removeWhenDone();
  }

  /** Whether nobody needs what was written to it so far. */
  get isAcknowledged(): boolean {
    return this.isWarm && this.#unacknowledged === 0;
  }

  /** Whether its file is gone, or would be if it could be removed. */
  get isDone(): boolean {
    return this.#isSealed && this.isAcknowledged;
  }

  #removeWhenDone(): void {
    if (!this.isDone) return;
    try {
      removeFile(this.path);
    } catch {
      // It stays for the next start, which writes it again under the same keys and adds nothing.
      return;
    }
    this.#onRemoved?.();
  }

  /** A file must not be closed under a sync that is on its way. */
  #closeWhenIdle(): void {
    if (this.#fd === null || !this.#isSealed || this.#syncs > 0) return;
    const fd = this.#fd;
    this.#fd = null;
    try {
      closeSync(fd);
    } catch {
      // What a close may report is the fate of earlier writes on the way to the disk; with fsync that was asked before.
    }
  }

  #cutBack(fd: number): void {
    try {
      ftruncateSync(fd, this.bytes);
    } catch {
      // The reader tells a half record from a whole one.
    }
  }

  #openFd(): number {
    return must(this.#fd, `the segment ${this.path} is sealed`);
  }
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
