import { SECOND_MS } from "../../shared/durations.ts";
import type { LogEvent } from "../deps.ts";
import { clickBytes, type Click, type WriteClicks } from "./click.ts";
import { ClickLanes, type QueuedClick } from "./click-lanes.ts";
import { SEGMENT_RECORDS_MAX, type Spool } from "./spool.ts";
import { within, type After } from "./timers.ts";

/** Clicks of one mutation: it stays well within Convex's limits, and one conflict costs little. */
const BATCH_MAX = 100;
const IN_FLIGHT_MAX = 4;
/** With a spool an answered click is safe, so it can wait for company: fewer, fuller mutations. */
const FLUSH_AFTER_MS = 200;
/** Clicks kept in memory. With a spool what comes on top is kept in its files only; without one it is lost. */
const QUEUED_MAX = 10_000;
const QUEUED_BYTES_MAX = 8 * 1024 * 1024;
/** Without a spool an answer waits this long for its click to be written; then it goes out and the click stays queued. */
const DIRECT_WAIT_MS = 2 * SECOND_MS;
/** How long `close` tries to write what is queued. */
const CLOSE_WAIT_MS = 5 * SECOND_MS;

export interface ClickWriterOptions {
  readonly write: WriteClicks;
  /** Null where there is no disk: every click is then written before its answer, or under `waitUntil`. */
  readonly spool: Spool | null;
  /**
   * Whether a click may be answered that neither a file nor the ledger has. Only where no disk was promised: with one,
   * an answered click is counted, and an answer that cannot keep this is not given.
   */
  readonly maySpeculate: boolean;
  /** Keeps a serverless instance running after its answer until the promise settles. Used when there is no spool. */
  readonly waitUntil?: (work: Promise<void>) => void;
  readonly after: After;
  readonly random: () => number;
  readonly log: (event: LogEvent) => void;
  readonly batchMax?: number;
  readonly inFlightMax?: number;
  readonly flushAfterMs?: number;
  readonly queuedMax?: number;
  readonly queuedBytesMax?: number;
}

/** Counts since the start, but for the gauges `queued`, `queuedBytes`, `inFlight`, `segments`, `oldestQueuedAtMs`. */
export interface ClickMetrics {
  readonly recorded: number;
  readonly written: number;
  /** Batches tried again. */
  readonly retried: number;
  /** Refused by the ledger for good; kept aside where there is a spool. */
  readonly refused: number;
  /** Clicks that were answered and given up: no memory or no time was left for them, and no spool had them. */
  readonly lost: number;
  /** Clicks that were not followed: neither the spool nor the ledger took them in time. */
  readonly turnedAway: number;
  readonly queued: number;
  readonly queuedBytes: number;
  readonly inFlight: number;
  /** By the clock of the redirect; null when nothing waits in memory. */
  readonly oldestQueuedAtMs: number | null;
  readonly spooled: number;
  readonly replayed: number;
  readonly damaged: number;
  readonly segments: number;
  readonly spoolFailures: number;
}

export interface ClickWriter {
  /**
   * Resolves when the click is as safe as it can be made before the answer; false when that is not safe enough for an
   * answer, and the click is given up. Never rejects.
   */
  record(click: Click): Promise<boolean>;
  metrics(): ClickMetrics;
  /**
   * Call it when no request is under way any more. Resolves when every click is written or in the spool for the next
   * start; without a spool, what Convex does not take within `waitMs` is lost and counted.
   */
  close(waitMs?: number): Promise<void>;
}

/** Makes the writer of a process. What the spool has taken over from ended processes is written first. */
export function createClickWriter(options: ClickWriterOptions): ClickWriter {
  const { spool, after, log } = options;
  const queuedMax = options.queuedMax ?? QUEUED_MAX;
  const queuedBytesMax = options.queuedBytesMax ?? QUEUED_BYTES_MAX;
  const counts = { recorded: 0, written: 0, refused: 0, lost: 0, turnedAway: 0, queued: 0, queuedBytes: 0 };
  /** Of the queued: those that no spool file has. */
  let unspooled = 0;
  let isLosing = false;
  let isTurningAway = false;
  let isLoading = false;
  let isClosed = false;

  const lanes = new ClickLanes({
    write: options.write,
    batchMax: options.batchMax ?? BATCH_MAX,
    inFlightMax: options.inFlightMax ?? IN_FLIGHT_MAX,
    flushAfterMs: options.flushAfterMs ?? FLUSH_AFTER_MS,
    after,
    random: options.random,
    log,
    settled,
  });

  if (spool === null) {
    const when = options.waitUntil ? "after the answer" : "before the answer";
    log({ event: "clicks_without_spool", message: `There is no spool: each click is written ${when}.` });
  }
  loadCold();

  async function record(click: Click): Promise<boolean> {
    counts.recorded += 1;
    const bytes = clickBytes(click);
    if (isClosed) return giveUp("closed");
    if (spool !== null) {
      // As long as files wait to be loaded, new clicks line up behind them.
      const keepsCopy = hasRoom(bytes) && !spool.hasCold;
      if (keepsCopy) reserve(1, bytes);
      const outcome = await spool.append(click, keepsCopy);
      if (outcome.kind === "appended") {
        const { segment } = outcome;
        if (keepsCopy) lanes.add({ click, bytes, segment, isUrgent: false, settle: null });
        else loadCold();
        return true;
      }
      if (keepsCopy) reserve(-1, -bytes);
    }
    return await writeDirectly(click, bytes);
  }

  async function writeDirectly(click: Click, bytes: number): Promise<boolean> {
    if (!hasRoom(bytes)) return giveUp("memory_full");
    reserve(1, bytes);
    unspooled += 1;
    let queued: QueuedClick | undefined;
    const done = new Promise<void>((settle) => {
      queued = { click, bytes, segment: null, isUrgent: true, settle };
      lanes.add(queued);
    });
    if (options.waitUntil && options.maySpeculate) {
      options.waitUntil(done);
      return true;
    }
    const outcome = await within(done, DIRECT_WAIT_MS, after);
    if (outcome !== "late" || options.maySpeculate || queued === undefined) return true;
    reserve(-1, -bytes);
    unspooled -= 1;
    lanes.withdraw(queued);
    return giveUp("not_written");
  }

  /**
   * Without a disk the click is lost rather than the redirect: the visitor has nothing to do with our outage. Where
   * there should be one, a redirect that nobody counts would be usage that the books miss.
   */
  function giveUp(reason: string): boolean {
    if (options.maySpeculate) {
      lose(1, reason);
      return true;
    }
    counts.turnedAway += 1;
    if (!isTurningAway) log({ event: "clicks_turned_away", reason, turnedAway: counts.turnedAway });
    isTurningAway = true;
    return false;
  }

  function settled(clicks: readonly QueuedClick[], how: "written" | "refused"): void {
    if (how === "refused") spool?.setRefusedAside(clicks.map(({ click }) => click));
    counts[how] += clicks.length;
    for (const { bytes, segment, settle, isWithdrawn } of clicks) {
      if (isWithdrawn) continue;
      reserve(-1, -bytes);
      if (segment) spool?.acknowledge(segment, 1);
      else unspooled -= 1;
      settle?.();
    }
    isLosing = false;
    isTurningAway = false;
    loadCold();
  }

  function loadCold(): void {
    if (spool === null || isLoading || isClosed || !spool.hasCold) return;
    // An empty queue takes any file, whatever the maximum is.
    if (counts.queued > 0 && counts.queued + SEGMENT_RECORDS_MAX > queuedMax) return;
    isLoading = true;
    void spool.loadCold().then((loaded) => {
      isLoading = false;
      // Loaded too late: the file stays for the next start.
      if (isClosed) return;
      for (const click of loaded?.clicks ?? []) {
        const bytes = clickBytes(click);
        reserve(1, bytes);
        lanes.add({ click, bytes, segment: loaded?.segment ?? null, isUrgent: false, settle: null });
      }
      loadCold();
    });
  }

  function hasRoom(bytes: number): boolean {
    return counts.queued < queuedMax && counts.queuedBytes + bytes <= queuedBytesMax;
  }

  function reserve(clicks: number, bytes: number): void {
    counts.queued += clicks;
    counts.queuedBytes += bytes;
  }

  function lose(clicks: number, reason: string): void {
    counts.lost += clicks;
    // Once until a click gets through again: the count is in the metrics.
    if (!isLosing) log({ event: "clicks_lost", reason, lost: counts.lost });
    isLosing = true;
  }

  async function close(waitMs = CLOSE_WAIT_MS): Promise<void> {
    const outcome = await within(lanes.drain(), waitMs, after);
    isClosed = true;
    lanes.stop();
    await spool?.close();
    if (outcome === "late")
      log({ event: "clicks_left", inSpool: counts.queued - unspooled, lost: unspooled });
    if (unspooled > 0) lose(unspooled, "closed");
  }

  return {
    record,
    close,
    metrics: () => {
      const { segments = 0, damaged = 0, replayed = 0, spooled = 0, failures = 0 } = spool?.stats() ?? {};
      const spoolMetrics = { segments, damaged, replayed, spooled, spoolFailures: failures };
      const { retries: retried, inFlight } = lanes;
      return { ...counts, ...spoolMetrics, retried, inFlight, oldestQueuedAtMs: lanes.oldestAtMs() };
    },
  };
}
