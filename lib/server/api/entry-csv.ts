import type { z } from "zod";
import type { entry as entrySchema } from "./answer-schemas.ts";

type Entry = z.output<typeof entrySchema>;

/** The columns of an export. Their order and names are part of the API. */
const COLUMNS: readonly (readonly [name: string, cell: (entry: Entry) => string | number])[] = [
  ["id", ({ id }) => id],
  ["at", ({ atMs }) => new Date(atMs).toISOString()],
  ["feature", ({ feature }) => feature],
  ["cycle", ({ cycle }) => cycle],
  ["agreement", ({ agreementId }) => agreementId ?? ""],
  ["units", ({ units }) => units],
  ["kind", ({ origin }) => origin.kind],
  ["code", ({ origin }) => (origin.kind === "click" ? origin.code : "")],
  ["class", ({ origin }) => (origin.kind === "click" ? origin.class : "")],
  ["rule", ({ origin }) => (origin.kind === "click" ? origin.rule : "")],
  ["referrer", ({ origin }) => (origin.kind === "click" ? (origin.referrer ?? "") : "")],
  ["agent", ({ origin }) => (origin.kind === "click" ? (origin.agent ?? "") : "")],
  ["job", ({ origin }) => (origin.kind === "job" ? origin.jobKey : "")],
  ["corrects", ({ origin }) => ("correctsEntryId" in origin ? origin.correctsEntryId : "")],
  ["review", ({ origin }) => ("reviewId" in origin ? origin.reviewId : "")],
  ["key", ({ key }) => key],
];

const row = (cells: readonly string[]): string => `${cells.join(",")}\r\n`;

export const CSV_HEADER = row(COLUMNS.map(([name]) => name));

export function csvLine(entry: Entry): string {
  return row(
    COLUMNS.map(([, cellOf]) => {
      const cell = cellOf(entry);
      // A number is ours and may be negative; a text may be anybody's.
      return typeof cell === "number" ? String(cell) : quoted(harmless(cell));
    }),
  );
}

/** What spreadsheets take for the start of a formula, also behind spaces. */
const FORMULA = /^\s*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;

/** A link's code, a referrer and an agent come from outside: an apostrophe keeps a spreadsheet from running them. */
function harmless(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** RFC 4180, section 2: quotes where a separator, a quote or a line break is inside. */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
