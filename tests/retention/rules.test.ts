import { describe, expect, test } from "vitest";

import schema from "../../convex/schema.ts";
import { QUARANTINE_AFTER_MS } from "../../lib/inbox/event.ts";
import { RETENTION, type RetentionRule } from "../../lib/retention/rules.ts";
import { DAY_MS } from "../../lib/shared/durations.ts";

const rules: [string, RetentionRule][] = Object.entries(RETENTION);

describe("retention", () => {
  test("says for each table of the schema how long its rows are kept, and for no other", () => {
    expect(Object.keys(RETENTION).toSorted()).toEqual(Object.keys(schema.tables).toSorted());
  });

  test("keeps everything longer than a copy of an event may still be applied by itself", () => {
    const kept = rules.map(([, rule]) => (rule.kind === "removed" ? rule.keptMs : Infinity));
    expect(Math.min(...kept)).toBeGreaterThan(2 * QUARANTINE_AFTER_MS);
  });

  test("never removes a row that a sum, a key or a decision depends on", () => {
    const books = ["entries", "jobs", "budgets", "meters", "credits", "planChanges", "payments", "reviews"];
    for (const table of [...books, "audit", "links", "agreements", "driftEvidence"]) {
      expect([table, RETENTION[table as keyof typeof RETENTION].kind]).toEqual([table, "for_ever"]);
    }
  });

  test("rows that go with others name a table that rows are removed from", () => {
    const parents = rules.flatMap(([, rule]) => (rule.kind === "with" ? [rule.table] : []));
    const removed = rules.filter(([, rule]) => rule.kind === "removed").map(([table]) => table);
    expect(parents.filter((table) => !removed.includes(table))).toEqual([]);
  });

  test("refusals are kept for as long as the screens and the suggested estimate look back", () => {
    expect(RETENTION.refusals.keptMs).toBe(30 * DAY_MS);
  });
});
