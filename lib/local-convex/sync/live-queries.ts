/**
 * The queries that clients are subscribed to, with their newest results. A result holds until a commit writes into
 * what its run had read; then its holders are told, and the next of them to need it runs it again. Equal
 * subscriptions of one identity share their runs.
 */
import type { FunctionError } from "../errors.ts";
import type { Reader } from "../executor.ts";
import type { Caller } from "../invocation.ts";
import { canonicalPath } from "../modules.ts";
import type { WrittenKeys } from "../read-set.ts";
import type { ChangeListener, Observation, Runtime } from "../runtime.ts";
import type { JsonObject } from "../values/json.ts";
import { InvalidationIndex } from "./invalidation-index.ts";

export type LiveCaller = Pick<Caller, "admin" | "identity">;

export interface LiveResult {
  outcome: { kind: "value"; valueText: string } | { kind: "failed"; error: FunctionError };
  logLines: string[];
  /** Opaque to clients, who give it back when they subscribe again after a reconnect. */
  journal: string | null;
}

/** Who is subscribed. */
export interface Holder {
  /** The result no longer holds. Called inside a commit: must only take note. */
  invalidated(): void;
}

export interface LiveQuery {
  readonly path: string;
  readonly args: JsonObject;
  readonly caller: LiveCaller;
  /** The newest result, null before the first run. */
  result: LiveResult | null;
  /** Whether `result` is what a run would give now. */
  isCurrent: boolean;
  readonly holders: Set<Holder>;
}

interface Entry extends LiveQuery {
  readonly key: string;
  /** Where the page of the first run ended. */
  endCursor: string | null;
}

export class LiveQueries implements ChangeListener {
  private readonly all = new Set<Entry>();
  /** What a new subscriber may join. */
  private readonly shared = new Map<string, Entry>();
  private readonly index = new InvalidationIndex<Entry>();

  constructor(private readonly runtime: Runtime) {
    runtime.listeners.add(this);
  }

  close(): void {
    this.runtime.listeners.delete(this);
  }

  /** @param journal of an earlier result of the same query, null when there is none */
  acquire(
    holder: Holder,
    path: string,
    args: JsonObject,
    caller: LiveCaller,
    journal: string | null,
  ): LiveQuery {
    const identity = [caller.admin, caller.identity];
    const key = JSON.stringify([canonicalPath(path), args, identity, journal]);
    let entry = this.shared.get(key);
    if (entry === undefined) {
      entry = {
        path,
        args,
        caller,
        key,
        endCursor: journal,
        result: null,
        isCurrent: false,
        holders: new Set(),
      };
      this.shared.set(key, entry);
      this.all.add(entry);
    }
    entry.holders.add(holder);
    return entry;
  }

  release(holder: Holder, query: LiveQuery): void {
    query.holders.delete(holder);
    if (query.holders.size > 0) return;
    const entry = query as Entry;
    this.all.delete(entry);
    this.index.delete(entry);
    if (this.shared.get(entry.key) === entry) this.shared.delete(entry.key);
  }

  /**
   * Brings queries up to date and calls `capture` at a moment when all of them are, so that their results belong to
   * one snapshot: the newest at that moment.
   * @param queries asked again whenever it is their turn, since subscriptions come and go meanwhile
   */
  async capture<T>(queries: () => Iterable<LiveQuery>, capture: () => T): Promise<T> {
    if (firstStale(queries()) === null) return capture();
    const captured = await this.runtime.executor.reads(async (read) => {
      // With more than one transaction at a time, a commit may overtake a query that was brought up to date before.
      while (firstStale(queries()) !== null)
        for (const query of Array.from(queries())) if (!query.isCurrent) await this.run(read, query as Entry);
      return capture();
    });
    return captured.value;
  }

  committed(written: WrittenKeys): void {
    for (const entry of this.index.touchedBy(written)) this.invalidate(entry);
  }

  reloaded(): void {
    for (const entry of this.all) this.invalidate(entry);
  }

  private invalidate(entry: Entry): void {
    entry.isCurrent = false;
    this.index.delete(entry);
    for (const holder of entry.holders) holder.invalidated();
  }

  private run(read: Reader, entry: Entry): Promise<void> {
    const caller: Caller = { ...entry.caller, ip: null, userAgent: null };
    return this.runtime.observeQuery(read, entry.path, entry.args, caller, entry.endCursor, (observation) =>
      this.settle(entry, observation),
    );
  }

  private settle(entry: Entry, { outcome, logLines, endCursor, reads }: Observation): void {
    entry.result = { outcome, logLines, journal: endCursor };
    entry.endCursor = endCursor;
    entry.isCurrent = true;
    if (entry.holders.size > 0) this.index.set(entry, reads);
    // Its page ends where its first run ended: a newcomer's first page ends where the newcomer asks.
    if (endCursor !== null && this.shared.get(entry.key) === entry) this.shared.delete(entry.key);
  }
}

function firstStale(queries: Iterable<LiveQuery>): LiveQuery | null {
  for (const query of queries) if (!query.isCurrent) return query;
  return null;
}
