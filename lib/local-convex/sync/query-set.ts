/** The queries of one connection: which they are, what the client has been sent of each, and what it lacks. */
import { clientText } from "./client-text.ts";
import type { Holder, LiveCaller, LiveQueries, LiveQuery, LiveResult } from "./live-queries.ts";
import { ProtocolError, type AddQuery, type QuerySetChange } from "./protocol.ts";

interface Subscription extends Holder {
  readonly add: AddQuery;
  live: LiveQuery;
  /** What the client holds; null before the first answer. */
  sent: LiveResult | null;
}

export class QuerySet {
  private readonly subscriptions = new Map<number, Subscription>();
  private removed: number[] = [];

  constructor(
    private readonly live: LiveQueries,
    private readonly onInvalidated: () => void,
  ) {}

  /** @throws ProtocolError when a query is added twice */
  change(changes: readonly QuerySetChange[], caller: LiveCaller): void {
    for (const change of changes) {
      if (change.type === "Remove") this.remove(change.queryId);
      else this.add(change, caller);
    }
  }

  /** Subscribes to everything again as somebody else. */
  changeCaller(caller: LiveCaller): void {
    for (const subscription of this.subscriptions.values()) {
      const { add, live } = subscription;
      if (isSameCaller(live.caller, caller)) continue;
      const journal = live.result?.journal ?? add.journal;
      subscription.live = this.live.acquire(subscription, add.udfPath, add.args, caller, journal);
      this.live.release(subscription, live);
    }
  }

  /** Whether no query has to be run for the next transition. */
  get isCurrent(): boolean {
    return [...this.queries()].every((query) => query.isCurrent);
  }

  *queries(): Generator<LiveQuery> {
    for (const subscription of this.subscriptions.values()) yield subscription.live;
  }

  /** What the client lacks, as JSON texts of modifications; from now on it counts as sent. All must be current. */
  takeChanges(): string[] {
    const changes = this.removed.map((queryId) => JSON.stringify({ type: "QueryRemoved", queryId }));
    this.removed = [];
    for (const [queryId, subscription] of this.subscriptions) {
      const result = subscription.live.result!;
      if (subscription.sent === null || !isSame(subscription.sent, result))
        changes.push(changeText(queryId, result));
      subscription.sent = result;
    }
    return changes;
  }

  clear(): void {
    for (const subscription of this.subscriptions.values())
      this.live.release(subscription, subscription.live);
    this.subscriptions.clear();
  }

  private add(add: AddQuery, caller: LiveCaller): void {
    if (this.subscriptions.has(add.queryId))
      throw new ProtocolError(`Query ${add.queryId} is there already.`);
    const holder: Holder = { invalidated: this.onInvalidated };
    const live = this.live.acquire(holder, add.udfPath, add.args, caller, add.journal);
    this.subscriptions.set(add.queryId, Object.assign(holder, { add, live, sent: null }));
  }

  private remove(queryId: number): void {
    const subscription = this.subscriptions.get(queryId);
    if (subscription === undefined) return;
    this.subscriptions.delete(queryId);
    this.live.release(subscription, subscription.live);
    this.removed.push(queryId);
  }
}

/** A refreshed token makes nobody else of its bearer. */
function isSameCaller(a: LiveCaller, b: LiveCaller): boolean {
  return a.admin === b.admin && JSON.stringify(a.identity) === JSON.stringify(b.identity);
}

function isSame(a: LiveResult, b: LiveResult): boolean {
  if (a === b) return true;
  return (
    a.journal === b.journal &&
    a.logLines.length === b.logLines.length &&
    a.logLines.every((line, i) => line === b.logLines[i]) &&
    outcomeText(a) === outcomeText(b)
  );
}

/** Values are their JSON text, which begins like no failure does. */
function outcomeText({ outcome }: LiveResult): string {
  if (outcome.kind === "value") return outcome.valueText;
  return `failed ${JSON.stringify([outcome.error.message, outcome.error.data])}`;
}

function changeText(queryId: number, { outcome, logLines, journal }: LiveResult): string {
  if (outcome.kind === "value") {
    return (
      `{"type":"QueryUpdated","queryId":${queryId},"value":${outcome.valueText},` +
      `"logLines":${JSON.stringify(logLines)},"journal":${JSON.stringify(journal)}}`
    );
  }
  const { error } = outcome;
  return JSON.stringify({
    type: "QueryFailed",
    queryId,
    errorMessage: clientText(error.message),
    ...(error.data === undefined ? {} : { errorData: error.data }),
    logLines,
    journal,
  });
}
