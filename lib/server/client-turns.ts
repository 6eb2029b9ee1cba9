import { ClientLimits, type LimitRule } from "./client-limits.ts";

/** What is looked at at once for a client that has no try left, of what may still prove good. */
const BEYOND_MAX = 8;
/** Requests that wait for their turn: of one client, and of all. They hold a connection each and nothing else. */
const WAITING_MAX = 1_000;
const WAITING_OF_ALL_MAX = 5_000;

/** The right of one request to be looked at. Its end is told once, whatever came of it. */
export interface Turn {
  /** True when the client had no try left: a failure now is answered with a refusal, and costs nothing. */
  readonly isBeyond: boolean;
  end(isFailure: boolean, nowMs: number): void;
}

interface Waiting {
  readonly mayProve: boolean;
  readonly start: (turn: Turn | null) => void;
}

/** Of one client, as long as it has requests under way. */
interface Row {
  /** Each holds one of the client's tries until it has proved good. */
  within: number;
  beyond: number;
  readonly waiting: Waiting[];
}

/**
 * Who may be looked at when. A request under way counts as a failure until it proves good, so that a thousand at once
 * fail no more often than a thousand in turn: what would pass the tries left waits until others have ended. A client
 * without a try is refused, but for requests that may prove good: those go on, `BEYOND_MAX` at once.
 */
export class ClientTurns {
  readonly limits: ClientLimits;
  readonly #rows = new Map<string, Row>();
  #waiting = 0;

  constructor(rule: LimitRule) {
    this.limits = new ClientLimits(rule);
  }

  /** Clients with a request under way. */
  get size(): number {
    return this.#rows.size;
  }

  /** Null: refused. `mayProve`: the request shows something that may turn out to be good. */
  take(client: string, mayProve: boolean, nowMs: number): Turn | Promise<Turn | null> | null {
    const row = this.#rows.get(client) ?? { within: 0, beyond: 0, waiting: [] };
    const now = row.waiting.length === 0 ? this.#start(client, row, mayProve, nowMs) : "later";
    if (now !== "later") return now;
    if (row.waiting.length >= WAITING_MAX || this.#waiting >= WAITING_OF_ALL_MAX) return null;
    this.#waiting += 1;
    return new Promise((start) => row.waiting.push({ mayProve, start }));
  }

  #start(client: string, row: Row, mayProve: boolean, nowMs: number): Turn | "later" | null {
    const triesLeft = this.limits.triesLeft(client, nowMs);
    const atOnceMax = Math.max(triesLeft, mayProve ? BEYOND_MAX : 0);
    if (atOnceMax === 0) return null;
    if (row.within + row.beyond >= atOnceMax) return "later";
    const isBeyond = row.within >= triesLeft;
    row[isBeyond ? "beyond" : "within"] += 1;
    this.#rows.set(client, row);
    const end = (isFailure: boolean, endedAtMs: number): void => {
      row[isBeyond ? "beyond" : "within"] -= 1;
      if (isFailure && !isBeyond) this.limits.count(client, endedAtMs);
      this.#wake(client, row, endedAtMs);
    };
    return { isBeyond, end };
  }

  /** In the order in which they came. Somebody waits only while somebody else is under way, whose end comes here. */
  #wake(client: string, row: Row, nowMs: number): void {
    for (let first = row.waiting[0]; first !== undefined; first = row.waiting[0]) {
      const turn = this.#start(client, row, first.mayProve, nowMs);
      if (turn === "later") return;
      row.waiting.shift();
      this.#waiting -= 1;
      first.start(turn);
    }
    if (row.within + row.beyond === 0) this.#rows.delete(client);
  }
}
