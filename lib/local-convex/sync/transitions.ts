/**
 * Sends one connection's transitions: each takes the client from the version it has to a newer one, with query
 * results of one snapshot (facts §5.3). While one is under way, whatever else happens goes into the next.
 */
import { nextTurn } from "../host.ts";
import type { Runtime } from "../runtime.ts";
import type { LiveQueries } from "./live-queries.ts";
import type { Outbox } from "./outbox.ts";
import { transitionText, type StateVersion } from "./protocol.ts";
import type { QuerySet } from "./query-set.ts";

/** A transition that nobody waits for rests this many times as long as the queries of the last one took. */
const REST_TIMES = 3;
const REST_MAX_MS = 2_000;

export interface TransitionHost {
  readonly runtime: Runtime;
  readonly live: LiveQueries;
  readonly queries: QuerySet;
  readonly outbox: Outbox;
  /** Asked before queries are run: false when their user's token ran out. */
  mayRun(): boolean;
  onFailure(error: unknown): void;
}

export class Transitions {
  /** What the client has asked for so far. */
  readonly asked = { querySet: 0, identity: 0 };
  private sent: StateVersion = { querySet: 0, identity: 0, ts: 0n };
  private isSending = false;
  private isStopped = false;
  /** Something may have changed since the last transition. */
  private isDirty = false;
  /** The client waits for a transition, even for one without changes. */
  private isAwaited = false;
  private restsUntilMs = 0;
  private endRest: (() => void) | null = null;

  constructor(private readonly host: TransitionHost) {}

  /** The identity version of the last transition that was sent. */
  get sentIdentity(): number {
    return this.sent.identity;
  }

  /** Sends a transition soon; one that is `isAwaited` even when no result changed. */
  update(isAwaited: boolean): void {
    if (this.isStopped) return;
    this.isDirty = true;
    this.isAwaited ||= isAwaited;
    if (isAwaited) this.endRest?.();
    if (!this.isSending) void this.sendAll();
  }

  stop(): void {
    this.isStopped = true;
    this.endRest?.();
  }

  private async sendAll(): Promise<void> {
    const { outbox, queries } = this.host;
    this.isSending = true;
    try {
      while (this.isDirty && !this.isStopped) {
        await outbox.ready();
        await this.rest();
        if (this.isStopped) return;
        this.isDirty = false;
        if (!queries.isCurrent && !this.host.mayRun()) return;
        await this.sendOne();
      }
    } catch (error) {
      this.host.onFailure(error);
    } finally {
      this.isSending = false;
    }
  }

  /**
   * An open screen that reads much may not take the engine from those who write: under a stream of commits its queries
   * run a quarter of the time. What the client itself has asked for does not wait.
   */
  private async rest(): Promise<void> {
    const { host } = this.host.runtime;
    const restMs = Math.min(REST_MAX_MS, this.restsUntilMs - host.elapsedMs());
    if (restMs <= 0 || this.isAwaited || this.isStopped) return;
    await new Promise<void>((resolve) => {
      const timer = host.setTimeout(resolve, restMs);
      this.endRest = () => {
        host.clearTimeout(timer);
        resolve();
      };
    });
    this.endRest = null;
  }

  private async sendOne(): Promise<void> {
    const { live, queries, runtime, outbox } = this.host;
    const startMs = runtime.host.elapsedMs();
    const taken = await live.capture(
      () => queries.queries(),
      () => {
        const changes = queries.takeChanges();
        const isNeeded = this.isAwaited || changes.length > 0;
        this.isAwaited = false;
        return isNeeded ? { changes, end: { ...this.asked, ts: runtime.executor.timestamp } } : null;
      },
    );
    const endMs = runtime.host.elapsedMs();
    this.restsUntilMs = endMs + (endMs - startMs) * REST_TIMES;
    if (taken === null) return;
    // A crash may still undo what is not on disk, and nobody may have seen that.
    await runtime.executor.flushed();
    // The answers of mutations in this transition, due by now too, go first: the other way round the client would
    // show the mutation's effects and its optimistic update at the same time.
    await nextTurn(runtime.host);
    if (this.isStopped) return;
    outbox.sendTransition(transitionText(this.sent, taken.end, taken.changes));
    this.sent = taken.end;
  }
}
