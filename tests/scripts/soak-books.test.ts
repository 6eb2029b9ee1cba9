import { expect, test } from "vitest";

import { type Books, faultsOf, type MeterBooks } from "../../scripts/soak/books.ts";

const ANSWERED = { jobs: 2, refused: 1, repeated: 0, clicks: 5, reminders: 1, failed: 0, faults: [] };
const METER = { name: "clicks 2026-10 a", ledger: 5, counters: 5, sent: 5, meter: 5, isReviewed: false };

function books(change: Partial<Books>, meter: Partial<MeterBooks> = {}): Books {
  const rest = { jobs: 2, clicks: 5, reminders: 1, held: 0, running: 0, marks: 0, reviews: [] };
  return { meters: [{ ...METER, ...meter }], ...rest, ...change };
}

test("books in which everything that was answered is there once, and all four numbers are one, are good", () => {
  expect(faultsOf(books({}), ANSWERED)).toEqual([]);
});

test.each<[string, Partial<Books>]>([
  ["jobs that were started: 1, not 2", { jobs: 1 }],
  ["clicks that were redirected: 6, not 5", { clicks: 6 }],
  ["reminders that were written: 0, not 1", { reminders: 0 }],
  ["units held at rest: 100, not 0", { held: 100 }],
  ["jobs running at rest: 1, not 0", { running: 1 }],
  ["meters marked at rest: 1, not 0", { marks: 1 }],
])("%s", (fault, change) => {
  expect(faultsOf(books(change), ANSWERED)).toEqual([fault]);
});

test.each<[string, Partial<MeterBooks>]>([
  ["counters 6, ledger 5", { counters: 6 }],
  ["ledger 5, sent 4, meter 5", { sent: 4 }],
  ["ledger 5, sent 5, meter 7", { meter: 7 }],
])("%s", (fault, change) => {
  expect(faultsOf(books({}, change), ANSWERED)).toEqual([`clicks 2026-10 a: ${fault}`]);
});

test("a meter that differs is no fault once a person was told, but its counters are", () => {
  expect(faultsOf(books({}, { meter: 7, isReviewed: true }), ANSWERED)).toEqual([]);
  expect(faultsOf(books({}, { counters: 7, isReviewed: true }), ANSWERED)).toHaveLength(1);
});
