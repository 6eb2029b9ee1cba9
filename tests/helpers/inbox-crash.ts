/** How the worker of one attempt ends. */
export type CrashKind =
  /** A write of the attempt fails; the worker is told and says so. */
  | "throws"
  /** The worker is gone: neither the attempt nor what became of it is written, and its lease has to end. */
  | "dies";

/** The inbox writes an event when it stores and when it claims it, and then as the last write of the attempt. */
const WRITES_BEFORE_ATTEMPT = 2;

/**
 * A crash of the next attempt at a new event, at one of its writes: the first is 0, and one that has fewer crashes at
 * its last, the mark of the event. The event has to be the only one that is due.
 */
export class InboxCrash {
  private next: { kind: CrashKind; atWrite: number; eventWrites: number; isDying: boolean } | null = null;
  /** How many there were. */
  count = 0;

  arm(kind: CrashKind, atWrite: number): void {
    this.next = { kind, atWrite, eventWrites: 0, isDying: false };
  }

  get isArmed(): boolean {
    return this.next !== null;
  }

  /** For `BackendOptions`. */
  readonly beforeWrite = (table: string): void => {
    const { next } = this;
    if (next === null) return;
    const isEvent = table === "inboxEvents";
    if (next.isDying) {
      // The attempt is undone by now; this write would tell of it.
      if (!isEvent) return;
      this.next = null;
      throw new Error("the worker is gone");
    }
    if (next.eventWrites < WRITES_BEFORE_ATTEMPT) {
      if (isEvent) next.eventWrites += 1;
      return;
    }
    if (next.atWrite > 0 && !isEvent) {
      next.atWrite -= 1;
      return;
    }
    this.count += 1;
    if (next.kind === "dies") next.isDying = true;
    else this.next = null;
    throw new Error(`no write to ${table}`);
  };
}
