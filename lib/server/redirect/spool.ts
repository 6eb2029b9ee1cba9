import { appendFileSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { assert } from "../../shared/assert.ts";
import { SECOND_MS } from "../../shared/durations.ts";
import { takeLock, type Lock } from "../../shared/file-lock.ts";
import type { LogEvent } from "../deps.ts";
import type { Click } from "./click.ts";
import * as files from "./spool-files.ts";
import { decodeRecords, encodeRecord, type DecodedRecords } from "./spool-records.ts";
import { Segment } from "./spool-segment.ts";

/**
 * Records of one file. Small enough that loading one is a short pause and that a crash repeats few records which are
 * in the ledger already; large enough that making and removing files is rare.
 */
export const SEGMENT_RECORDS_MAX = 1_000;
const SEGMENT_BYTES_MAX = 512 * 1024;
/** After a failed write nothing is tried on the disk for this long. */
const RETRY_DISK_MS = SECOND_MS;

export interface SpoolOptions {
  /** Its folder, on a disk of this machine. Made when it is not there. */
  readonly folder: string;
  /** 128 random bits in hex: the name of this process among the files. */
  readonly spoolId: string;
  /** Survive a loss of power, too: an answer waits for the disk. Appends that come meanwhile share one wait. */
  readonly fsync: boolean;
  readonly nowMs: () => number;
  readonly log: (event: LogEvent) => void;
  /** `fs.writeSync` outside tests. */
  readonly write?: files.WriteBytes;
}

export type AppendOutcome =
  | { readonly kind: "appended"; readonly segment: Segment }
  | { readonly kind: "failed"; readonly code: string };

export type SpoolState =
  | { readonly status: "ok" }
  /** `code` is what the system said, such as ENOSPC. */
  | { readonly status: "down"; readonly code: string };

export interface SpoolStats {
  /** Clicks appended since the start. */
  readonly spooled: number;
  /** Files not yet removed, those taken over included. */
  readonly segments: number;
  /** Lines set aside because they could not be read. */
  readonly damaged: number;
  /** Clicks found in files of processes that ended without writing them. */
  readonly replayed: number;
  readonly failures: number;
}

interface Pending {
  readonly line: string;
  readonly keepsCopy: boolean;
  readonly resolve: (outcome: AppendOutcome) => void;
}

/**
 * The clicks of this process that are not in the ledger yet, in files. An append has reached the kernel when it
 * resolves, so it survives the end of the process, however sudden; a loss of power only with `fsync`.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #lock: Lock;
  /** Every segment whose file is there, oldest first. */
  readonly #segments = new Set<Segment>();
  #open: Segment | null = null;
  #nextNumber = 1;
  #pending: Pending[] = [];
  #flushing: Promise<void> | null = null;
  #brokenAtMs: number | null = null;
  #brokenCode = "unknown";
  #claims: Lock[] = [];
  readonly #stats = { spooled: 0, damaged: 0, replayed: 0, failures: 0 };

  private constructor(options: SpoolOptions, lock: Lock) {
    this.#options = options;
    this.#lock = lock;
  }

  /** Opens a spool and claims what ended processes left in the folder. Throws when the folder cannot be used. */
  static open(options: SpoolOptions): Spool {
    assert(/^[0-9a-f]{32}$/.test(options.spoolId), `not a spool id: ${options.spoolId}`);
    files.createFolder(options.folder);
    const outcome = takeLock(files.lockPath(options.folder, options.spoolId));
    assert(outcome.kind === "taken", `the spool id ${options.spoolId} is in use`);
    const spool = new Spool(options, outcome.lock);
    for (const claim of files.claimAbandoned(options.folder, options.spoolId)) spool.#adopt(claim);
    return spool;
  }

  /**
   * Appends a click. `keepsCopy`: the caller keeps it in memory too and acknowledges it; otherwise it comes back from
   * `loadCold`. Never rejects. Appends of one turn of the event loop share one write.
   */
  append(click: Click, keepsCopy: boolean): Promise<AppendOutcome> {
    return new Promise((resolve) => {
      this.#pending.push({ line: encodeRecord(click), keepsCopy, resolve });
      this.#flushing ??= new Promise<void>((done) => void setImmediate(() => done(this.#flush())));
    });
  }

  /** Whether clicks are here that are in nobody's memory. */
  get hasCold(): boolean {
    for (const segment of this.#segments) if (!segment.isWarm) return true;
    return false;
  }

  /** The clicks of the oldest cold segment, for the caller to keep and acknowledge. Null when there is none. */
  async loadCold(): Promise<{ readonly segment: Segment; readonly clicks: readonly Click[] } | null> {
    for (const segment of this.#segments) {
      if (segment.isWarm) continue;
      if (segment === this.#open) this.#sealOpen();
      const decoded = await this.#read(segment);
      if (decoded === null) continue;
      if (segment.records === 0) this.#stats.replayed += decoded.clicks.length;
      segment.loaded(decoded.clicks.length);
      this.#forgetDone(segment);
      if (decoded.clicks.length > 0) return { segment, clicks: decoded.clicks };
    }
    return null;
  }

  /** So many clicks of a segment are in the ledger. A file goes as soon as that is true of all that is in it. */
  acknowledge(segment: Segment, clicks: number): void {
    segment.acknowledge(clicks);
    if (segment === this.#open && segment.isAcknowledged) this.#sealOpen();
    else this.#forgetDone(segment);
  }

  /** Keeps clicks that the ledger refused, for a person to look at. Throws when the disk refuses them as well. */
  setRefusedAside(clicks: readonly Click[]): void {
    const path = join(this.#options.folder, `${this.#options.spoolId}.refused`);
    appendFileSync(path, clicks.map(encodeRecord).join(""), { mode: files.FILE_MODE });
  }

  /** As of the last append. */
  state(): SpoolState {
    return this.#brokenAtMs === null ? { status: "ok" } : { status: "down", code: this.#brokenCode };
  }

  stats(): SpoolStats {
    return { ...this.#stats, segments: this.#segments.size };
  }

  /** Leaves what is not acknowledged to the next start. Nothing may be appended afterwards. */
  async close(): Promise<void> {
    while (this.#flushing) await this.#flushing;
    this.#sealOpen();
    for (const lock of this.#claims) lock.release();
    this.#claims = [];
    this.#lock.release();
  }

  #adopt({ paths, lock }: files.Claim): void {
    this.#claims.push(lock);
    let left = paths.length;
    for (const path of paths) {
      const onRemoved = () => {
        left -= 1;
        if (left > 0) return;
        lock.release();
        this.#claims = this.#claims.filter((claim) => claim !== lock);
      };
      this.#segments.add(Segment.adopt(path, onRemoved));
    }
    this.#options.log({ event: "spool_claimed", files: paths.length });
  }

  /** Runs until nothing is pending: with fsync, what comes while the disk works is the next group. */
  async #flush(): Promise<void> {
    while (this.#pending.length > 0) {
      const group = this.#pending;
      this.#pending = [];
      for (const run of this.#runs(group)) {
        const outcome = await this.#synced(this.#write(run));
        for (const { resolve } of run) resolve(outcome);
      }
    }
    this.#flushing = null;
  }

  /** Cuts a group where the kind of segment changes and where a segment is full. */
  *#runs(group: readonly Pending[]): Generator<readonly Pending[]> {
    for (let start = 0; start < group.length;) {
      const keepsCopy = group[start]?.keepsCopy;
      const open = this.#open;
      const goesOn = open && open.isWarm === keepsCopy && hasRoom(open);
      const room = SEGMENT_RECORDS_MAX - (goesOn ? open.records : 0);
      let end = start + 1;
      while (end < group.length && end - start < room && group[end]?.keepsCopy === keepsCopy) end += 1;
      yield group.slice(start, end);
      start = end;
    }
  }

  #write(run: readonly Pending[]): AppendOutcome {
    const { nowMs, log, write = writeSync } = this.#options;
    const brokenForMs = this.#brokenAtMs === null ? null : nowMs() - this.#brokenAtMs;
    if (brokenForMs !== null && brokenForMs >= 0 && brokenForMs < RETRY_DISK_MS) {
      return { kind: "failed", code: "broken" };
    }
    try {
      const segment = this.#segmentFor(run[0]?.keepsCopy === true);
      segment.append(Buffer.from(run.map(({ line }) => line).join("")), run.length, write);
      if (brokenForMs !== null) log({ event: "spool_works_again" });
      this.#brokenAtMs = null;
      this.#stats.spooled += run.length;
      return { kind: "appended", segment };
    } catch (error) {
      return this.#failed(error);
    }
  }

  async #synced(outcome: AppendOutcome): Promise<AppendOutcome> {
    if (!this.#options.fsync || outcome.kind === "failed") return outcome;
    try {
      await outcome.segment.sync();
      return outcome;
    } catch (error) {
      // What the file holds is not known any more. It is left to the next start; the caller writes the clicks itself.
      return this.#failed(error);
    }
  }

  #failed(error: unknown): AppendOutcome {
    const code = errorCode(error);
    this.#sealOpen();
    if (this.#brokenAtMs === null) this.#options.log({ event: "spool_failed", code });
    this.#brokenAtMs = this.#options.nowMs();
    this.#brokenCode = code;
    this.#stats.failures += 1;
    return { kind: "failed", code };
  }

  #segmentFor(isWarm: boolean): Segment {
    const open = this.#open;
    if (open && open.isWarm === isWarm && hasRoom(open)) return open;
    this.#sealOpen();
    const path = files.segmentPath(this.#options.folder, this.#options.spoolId, this.#nextNumber);
    this.#nextNumber += 1;
    this.#open = Segment.create(path, isWarm, this.#options.fsync);
    this.#segments.add(this.#open);
    return this.#open;
  }

  #sealOpen(): void {
    const segment = this.#open;
    this.#open = null;
    segment?.seal();
    if (segment) this.#forgetDone(segment);
  }

  #forgetDone(segment: Segment): void {
    if (segment.isDone) this.#segments.delete(segment);
  }

  /** Null when the file cannot be read: it stays for the next start. One that is gone was replayed elsewhere. */
  async #read(segment: Segment): Promise<DecodedRecords | null> {
    try {
      const decoded = decodeRecords(await readFile(segment.path));
      this.#setDamagedAside(segment, decoded);
      return decoded;
    } catch (error) {
      const code = errorCode(error);
      this.#segments.delete(segment);
      if (code === "ENOENT") segment.loaded(0);
      else this.#options.log({ event: "spool_file_unreadable", path: segment.path, code });
      return null;
    }
  }

  /** Before the file may go, what could not be read of it stands in a file beside it. */
  #setDamagedAside(segment: Segment, { damaged, torn }: DecodedRecords): void {
    const lines = torn === null ? damaged : [...damaged, torn];
    if (lines.length === 0) return;
    const path = segment.path.replace(/\.clicks$/, ".damaged");
    files.writeWhole(path, Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")])));
    this.#stats.damaged += lines.length;
    this.#options.log({
      event: "spool_records_damaged",
      path,
      damaged: damaged.length,
      tornBytes: torn?.length ?? 0,
    });
  }
}

function hasRoom(segment: Segment): boolean {
  return segment.records < SEGMENT_RECORDS_MAX && segment.bytes < SEGMENT_BYTES_MAX;
}

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
