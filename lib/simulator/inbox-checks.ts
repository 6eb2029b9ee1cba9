import { mayGo } from "./kept.ts";
import type { Change, Row } from "./mirror.ts";
import { named, Sums, Unique } from "./sums.ts";
import { check } from "./violation.ts";

const periodName = named("accountId", "period");

function namedUnlessNull(field: string): (row: Row) => string | null {
  return (row) => row[field] as string | null;
}

/** What is never true of events, their facts and credits (design §6, §11). */
export class InboxChecks {
  private readonly credits = new Sums();
  private readonly unique = [
    new Unique("inboxEvents", named("eventKey")),
    new Unique("planChanges", named("accountId", "eventId")),
    new Unique("payments", named("accountId", "eventId")),
    new Unique("credits", named("accountId", "entryKey")),
    new Unique("reminders", named("accountId", "key")),
    new Unique("agreements", named("agreementId")),
    new Unique("accounts", namedUnlessNull("kindeUserId")),
    new Unique("accounts", namedUnlessNull("customerId")),
    new Unique("driftSightings", named("accountId")),
    new Unique("reviews", (row) =>
      row["status"] === "open" ? `${String(row["kind"])}|${String(row["subject"])}` : null,
    ),
  ];

  constructor(private readonly nowMs: () => number) {}

  apply(changes: readonly Change[], isCommit: boolean): void {
    const periods = new Set<string>();
    for (const change of changes) {
      for (const unique of this.unique) unique.apply(change);
      const { table, before, after } = change;
      if (table === "inboxEvents") checkEvent(before, after, this.nowMs());
      else if (table === "reminders" && isCommit) checkReminder(before, after);
      else if (table === "credits" && after !== null) {
        this.credits.add(periodName(after), after["units"] as number);
        periods.add(periodName(after));
      }
    }
    for (const name of periods) {
      check(
        this.credits.of(name) >= 0,
        "credits are never negative",
        () => `${name}: ${this.credits.of(name)}`,
      );
    }
  }
}

const IDENTITY = ["eventKey", "eventId", "type", "payloadHash", "webhookId", "receivedAtMs"];

function checkEvent(before: Row | null, after: Row | null, nowMs: number): void {
  if (after === null) {
    check(mayGo("inboxEvents", before!, nowMs), "a stored event stays until it is old", () =>
      JSON.stringify(before),
    );
    return;
  }
  if (before === null) return;
  const isSame = IDENTITY.every((field) => before[field] === after[field]);
  check(isSame, "an event stays what it was when it was stored", () => JSON.stringify([before, after]));
  const first = before["appliedAtMs"];
  check(first === null || first === after["appliedAtMs"], "an event is applied once", () =>
    JSON.stringify([before, after]),
  );
}

function checkReminder(before: Row | null, after: Row | null): void {
  check(after !== null, "a reminder is never deleted", () => JSON.stringify(before));
  if (before === null || before["status"] === "waiting") return;
  check(before["status"] === after!["status"], "a reminder ends once", () => JSON.stringify([before, after]));
}
