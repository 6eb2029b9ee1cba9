import type { z } from "zod";
import type { ServerDeps } from "../deps.ts";
import type { entry as entrySchema } from "./answer-schemas.ts";
import { CSV_HEADER, csvLine } from "./entry-csv.ts";

export type ExportFormat = "csv" | "ndjson";
type Entry = z.output<typeof entrySchema>;

interface Page {
  readonly cycle: { readonly name: string };
  readonly entries: readonly Entry[];
  readonly cursor: string | null;
}

const FORMATS = {
  csv: { type: "text/csv; charset=utf-8; header=present", extension: "csv", head: CSV_HEADER, line: csvLine },
  ndjson: {
    type: "application/x-ndjson",
    extension: "ndjson",
    head: "",
    line: (entry: Entry) => `${JSON.stringify(entry)}\n`,
  },
} as const;

const BY_MEDIA_TYPE: ReadonlyMap<string, ExportFormat | "json"> = new Map([
  ["text/csv", "csv"],
  ["application/x-ndjson", "ndjson"],
  ["application/ndjson", "ndjson"],
  ["application/json", "json"],
]);

/** The first media type of an Accept header that there is an answer for; JSON when it names none. */
export function wantedFormat(accept: string | null): ExportFormat | "json" {
  for (const range of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const format = BY_MEDIA_TYPE.get(type);
    if (format !== undefined && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) {
      return format;
    }
  }
  return "json";
}

/**
 * Streams every page as one text. The first page is read before the answer begins, so that a refusal is still an
 * answer of its own; the others only when the client takes more, so that one page is in memory at a time. A page that
 * cannot be read later cuts the connection: neither format has a place for an error that no reader takes for a row.
 */
export async function exportResponse(
  format: ExportFormat,
  readPage: (cursor: string | null) => Promise<Page>,
  deps: Pick<ServerDeps, "log" | "newId">,
): Promise<Response> {
  const { type, extension, head, line } = FORMATS[format];
  const textOf = (page: Page) => page.entries.map(line).join("");
  const encoder = new TextEncoder();
  const first = await readPage(null);
  let cursor = first.cursor;
  let text = head + textOf(first);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          // A page may hold nothing but rows that count for nothing; a pull must give something or end.
          while (text === "" && cursor !== null) {
            const page = await readPage(cursor);
            cursor = page.cursor;
            text = textOf(page);
          }
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          deps.log({ event: "export_cut", errorId: deps.newId(), message });
          controller.error(error);
          return;
        }
        if (text !== "") controller.enqueue(encoder.encode(text));
        text = "";
        if (cursor === null) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-disposition": `attachment; filename="usage-${first.cycle.name}.${extension}"`,
      "cache-control": "no-store",
      vary: "accept",
    },
  });
}
