import { assert } from "../../shared/assert.ts";
import type { LogEvent } from "../deps.ts";
import { backOffMs } from "./back-off.ts";
import type { Click, WriteClicks } from "./click.ts";
import type { Segment } from "./spool-segment.ts";
import type { After } from "./timers.ts";

/** A lane that failed this often in a row is told about by name: with growing pauses that is after some 20 seconds. */
const LANE_FAILURES_LOGGED = 8;

/** A click on its way to the ledger. */
export interface QueuedClick {
  readonly click: Click;
  readonly bytes: number;
  /** The spool file that has it too; null when there is none. */
  readonly segment: Segment | null;
  /** Somebody waits for it: it does not wait for others to fill its batch. */
  readonly isUrgent: boolean;
  /** Called once when it needs no memory any more. */
  readonly settle: (() => void) | null;
  /** Its answer went out as a refusal: it is not sent, or not again. */
  isWithdrawn?: boolean;
}

export interface LanesOptions {
  readonly write: WriteClicks;
  readonly batchMax: number;
  /** Batches under way at once, of different links. */
  readonly inFlightMax: number;
  /** How long a click waits for others of its link. */
  readonly flushAfterMs: number;
  readonly after: After;
  readonly random: () => number;
  readonly log: (event: LogEvent) => void;
  /** Clicks that are in the ledger, or that it refused for good. */
  readonly settled: (clicks: readonly QueuedClick[], how: "written" | "refused") => void;
}

/** The clicks of one link. At most one batch of a lane is under way, so that batches of a link never collide. */
interface Lane {
  readonly key: string;
  queue: QueuedClick[];
  state: "waiting" | "ready" | "sending";
  cancelTimer: (() => void) | null;
  failures: number;
  /** Shrinks while a refused batch is taken apart to find the click that is at fault. */
  batchMax: number;
}

/**
 * Brings queued clicks to the ledger: batches of one link, a bounded number at once, tried again with the same keys
 * until they are written. After a failure one batch at a time is tried, with growing pauses, until one gets through.
 */
export class ClickLanes {
  readonly #options: LanesOptions;
  readonly #lanes = new Map<string, Lane>();
  /** In the order in which they became ready. */
  readonly #ready = new Set<Lane>();
  #inFlight = 0;
  /** Failures since the last batch that got through, whatever its link. */
  #failuresInRow = 0;
  #cancelPause: (() => void) | null = null;
  #isDraining = false;
  #isStopped = false;
  #onEmpty: (() => void) | null = null;
  retries = 0;

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  add(queued: QueuedClick): void {
    const key = queued.click.linkId;
    let lane = this.#lanes.get(key);
    if (!lane) {
      const { batchMax } = this.#options;
      lane = { key, queue: [], state: "waiting", cancelTimer: null, failures: 0, batchMax };
      this.#lanes.set(key, lane);
    }
    lane.queue.push(queued);
    if (lane.state === "waiting" && lane.failures === 0) this.#schedule(lane, queued.isUrgent);
  }

  /**
   * Takes a click back that nobody was redirected for. One whose batch is on its way may still be written; it is not
   * sent again.
   */
  withdraw(queued: QueuedClick): void {
    queued.isWithdrawn = true;
    const lane = this.#lanes.get(queued.click.linkId);
    if (!lane || lane.state === "sending") return;
    this.#dropWithdrawn(lane);
    if (lane.queue.length > 0) return;
    lane.cancelTimer?.();
    this.#ready.delete(lane);
    this.#forget(lane);
  }

  /** When the oldest click that is not written happened; null when there is none. */
  oldestAtMs(): number | null {
    let oldest: number | null = null;
    for (const { queue } of this.#lanes.values()) {
      const atMs = queue[0]?.click.atMs;
      if (atMs !== undefined && (oldest === null || atMs < oldest)) oldest = atMs;
    }
    return oldest;
  }

  /** From now on nothing waits for its batch to fill. Resolves when every click is settled. */
  drain(): Promise<void> {
    this.#isDraining = true;
    for (const lane of this.#lanes.values()) {
      if (lane.state === "waiting" && lane.failures === 0) this.#makeReady(lane);
    }
    if (this.#lanes.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  /** Ends all timers. What is queued stays where it is. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelPause?.();
    for (const lane of this.#lanes.values()) lane.cancelTimer?.();
  }

  #schedule(lane: Lane, isUrgent: boolean): void {
    if (isUrgent || this.#isDraining || lane.queue.length >= lane.batchMax) return this.#makeReady(lane);
    lane.cancelTimer ??= this.#options.after(this.#options.flushAfterMs, () => this.#makeReady(lane));
  }

  #makeReady(lane: Lane): void {
    lane.cancelTimer?.();
    lane.cancelTimer = null;
    lane.state = "ready";
    this.#ready.add(lane);
    this.#pump();
  }

  #pump(): void {
    for (const lane of this.#ready) {
      // While nothing gets through, one batch asks for all.
      const inFlightMax = this.#failuresInRow > 0 ? 1 : this.#options.inFlightMax;
      if (this.#isStopped || this.#cancelPause || this.#inFlight >= inFlightMax) return;
      this.#ready.delete(lane);
      void this.#send(lane);
    }
  }

  async #send(lane: Lane): Promise<void> {
    lane.state = "sending";
    this.#inFlight += 1;
    const batch = lane.queue.slice(0, lane.batchMax);
    if (lane.failures > 0) this.retries += 1;
    try {
      const count = await this.#write(lane, batch);
      lane.failures = 0;
      this.#failuresInRow = 0;
      lane.queue.splice(0, count);
    } catch (error) {
      this.#failed(lane, batch.length, error);
    }
    this.#inFlight -= 1;
    lane.state = "waiting";
    this.#dropWithdrawn(lane);
    this.#next(lane);
    this.#pump();
  }

  #dropWithdrawn(lane: Lane): void {
    if (lane.queue.some(({ isWithdrawn }) => isWithdrawn)) {
      lane.queue = lane.queue.filter(({ isWithdrawn }) => !isWithdrawn);
    }
  }

  #forget(lane: Lane): void {
    this.#lanes.delete(lane.key);
    if (this.#lanes.size === 0) this.#onEmpty?.();
  }

  /** How many clicks at the head of the batch are done with. Throws when it has to be tried again. */
  async #write(lane: Lane, batch: readonly QueuedClick[]): Promise<number> {
    const { write, settled, log, batchMax } = this.#options;
    const clicks = batch.map(({ click }) => click);
    const accountId = clicks[0]?.accountId ?? "";
    const outcome = await write({ linkId: lane.key, accountId, clicks });
    if (outcome.kind === "written") {
      assert(
        outcome.count >= 1 && outcome.count <= batch.length,
        `${outcome.count} of ${batch.length} clicks written`,
      );
      settled(batch.slice(0, outcome.count), "written");
      lane.batchMax = Math.min(batchMax, lane.batchMax * 2);
      return outcome.count;
    }
    if (batch.length > 1) {
      lane.batchMax = Math.ceil(batch.length / 2);
      return 0;
    }
    log({ event: "click_refused", linkId: lane.key, key: clicks[0]?.key, reason: outcome.reason });
    settled(batch, "refused");
    return 1;
  }

  #failed(lane: Lane, clicks: number, error: unknown): void {
    const { after, random, log } = this.#options;
    lane.failures += 1;
    this.#failuresInRow += 1;
    const message = error instanceof Error ? error.message : String(error);
    // The first one of a row, and each one that has failed as often as tells of a fault of its own.
    if (this.#failuresInRow === 1 || lane.failures === LANE_FAILURES_LOGGED) {
      log({ event: "clicks_not_written", linkId: lane.key, clicks, failures: lane.failures, message });
    }
    if (this.#isStopped) return;
    this.#cancelPause ??= after(backOffMs(this.#failuresInRow, random()), () => {
      this.#cancelPause = null;
      this.#pump();
    });
  }

  #next(lane: Lane): void {
    if (lane.queue.length === 0) return this.#forget(lane);
    if (this.#isStopped) return;
    if (lane.failures === 0) {
      const isUrgent = lane.queue.slice(0, lane.batchMax).some((queued) => queued.isUrgent);
      return this.#schedule(lane, isUrgent);
    }
    const waitMs = backOffMs(lane.failures, this.#options.random());
    lane.cancelTimer = this.#options.after(waitMs, () => this.#makeReady(lane));
  }
}
