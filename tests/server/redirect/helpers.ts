import type { Click, ClickBatch, WriteClicks, WriteOutcome } from "../../../lib/server/redirect/click.ts";
import type { ResolvedLink } from "../../../lib/server/redirect/link.ts";
import type { After } from "../../../lib/server/redirect/timers.ts";

/** Time that stands still until it is moved; timers run in order when it passes them. */
export class ManualTime {
  #nowMs = Date.UTC(2026, 9, 1);
  readonly #timers = new Set<{ atMs: number; run: () => void }>();

  readonly nowMs = (): number => this.#nowMs;

  readonly after: After = (ms, run) => {
    const timer = { atMs: this.#nowMs + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Moves on, and lets what the timers started come to rest. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (;;) {
      const due = [...this.#timers].filter(({ atMs }) => atMs <= untilMs).toSorted((a, b) => a.atMs - b.atMs);
      const next = due[0];
      if (!next) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
      await settle();
    }
    this.#nowMs = untilMs;
  }
}

/** Lets promises and the spool's writes run: a few turns of the event loop, no time. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
}

/** A ledger in memory: one row a key, the first write wins. `next` decides what happens to the batches to come. */
export class FakeLedger {
  readonly rows = new Map<string, Click>();
  readonly batches: ClickBatch[] = [];
  next: (batch: ClickBatch) => WriteOutcome | Error | Promise<WriteOutcome> = writeAll;

  readonly write: WriteClicks = async (batch) => {
    this.batches.push(batch);
    const outcome = await this.next(batch);
    if (outcome instanceof Error) throw outcome;
    const count = outcome.kind === "written" ? outcome.count : 0;
    for (const click of batch.clicks.slice(0, count)) {
      if (!this.rows.has(click.key)) this.rows.set(click.key, click);
    }
    return outcome;
  };

  down(): void {
    this.next = () => new Error("connection refused");
  }

  up(): void {
    this.next = writeAll;
  }
}

const writeAll = ({ clicks }: ClickBatch): WriteOutcome => ({ kind: "written", count: clicks.length });

let keysMade = 0;
/** Keys that differ from each other. */
export function newKey(): string {
  keysMade += 1;
  return keysMade.toString(16).padStart(32, "0");
}

export function makeClick(changes: Partial<Click> = {}): Click {
  return {
    key: newKey(),
    linkId: "link-1",
    accountId: "account-1",
    atMs: Date.UTC(2026, 9, 1),
    served: "target",
    class: "billable",
    rule: "no rule against it",
    referrer: "https://example.com/",
    agent: "Mozilla/5.0",
    ...changes,
  };
}

export function makeLink(changes: Partial<ResolvedLink> = {}): ResolvedLink {
  return {
    linkId: "link-1",
    accountId: "account-1",
    location: "https://example.com/page?a=%2B",
    isActive: true,
    isOverCap: false,
    overCapLocation: null,
    ...changes,
  };
}
