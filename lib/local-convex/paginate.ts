/**
 * One page of a query (facts §1.4). A cursor is the position after a key, or the end, with a fingerprint of
 * its query. Positions outside of the query's own range are harmless: the range bounds still apply.
 */
import { QueryRun, queryFingerprint, type ResolvedRange, type SerializedQuery } from "./query.ts";
import { after } from "./read-set.ts";
import { LIMITS } from "./limits.ts";
import type { Transaction } from "./transaction.ts";

export interface PageRequest {
  query: SerializedQuery;
  cursor: string | null;
  endCursor?: string | null;
  pageSize: number;
  maximumRowsRead?: number | null;
  maximumBytesRead?: number | null;
}

/** A page; `page` holds documents as JSON text. */
export interface Page {
  page: string[];
  isDone: boolean;
  continueCursor: string;
  splitCursor: string | null;
  pageStatus: null | "SplitRecommended" | "SplitRequired";
}

/** More results than this, or more of the read limits, and the client is told to split the page. */
const SPLIT_RESULTS = 6_144;
const SPLIT_SHARE = 0.75;
/** A page stops before the transaction's own limits would fail it. */
const ROWS_READ_MAX = LIMITS.documentsRead - 1_000;
const BYTES_READ_MAX = LIMITS.bytesRead - 1024 * 1024;

type Position = { key: string } | "end";

export function readPage(tx: Transaction, range: ResolvedRange | null, request: PageRequest): Page {
  if (!(request.pageSize >= 1)) throw new Error("Must request at least 1 document while paginating");
  const fingerprint = queryFingerprint(request.query, range);
  const from = request.cursor === null ? null : decodeCursor(request.cursor, fingerprint);
  const to = request.endCursor == null ? null : decodeCursor(request.endCursor, fingerprint);
  const done = (position: Position): string => encodeCursor(position, fingerprint);
  if (range === null || from === "end") {
    return { page: [], isDone: true, continueCursor: done("end"), splitCursor: null, pageStatus: null };
  }
  const run = new QueryRun(tx, narrow(range, from, to), request.query.operators);
  const limits = to === null ? readLimits(request) : null;
  const startRows = tx.limits.documentsRead;
  const startBytes = tx.limits.bytesRead;
  const used = (): number =>
    limits === null
      ? 0
      : Math.max(
          (tx.limits.documentsRead - startRows) / limits.rows,
          (tx.limits.bytesRead - startBytes) / limits.bytes,
        );
  const page: string[] = [];
  const keysRead: string[] = [];
  let stopped: "size" | "limit" | null = null;
  while (stopped === null) {
    const read = run.advance();
    if (read === null) break;
    keysRead.push(read.row[0]);
    if (read.kept) page.push(read.row[1]);
    if (limits !== null && page.length >= request.pageSize) stopped = "size";
    else if (used() >= 1) stopped = "limit";
  }
  const position: Position = stopped === null ? "end" : { key: keysRead.at(-1)! };
  const isLarge = page.length > SPLIT_RESULTS || used() > SPLIT_SHARE;
  return {
    page,
    isDone: to === null ? stopped === null : to === "end",
    continueCursor: to === null ? done(position) : request.endCursor!,
    splitCursor: keysRead.length > 2 ? done({ key: keysRead[(keysRead.length - 1) >> 1]! }) : null,
    pageStatus: stopped === "limit" ? "SplitRequired" : isLarge ? "SplitRecommended" : null,
  };
}

/** What a page without an end cursor may read; rows that a filter drops count. */
function readLimits(request: PageRequest): { rows: number; bytes: number } {
  return {
    rows: Math.max(1, Math.min(request.maximumRowsRead ?? ROWS_READ_MAX, ROWS_READ_MAX)),
    bytes: Math.max(1, Math.min(request.maximumBytesRead ?? BYTES_READ_MAX, BYTES_READ_MAX)),
  };
}

function narrow(range: ResolvedRange, from: Position | null, to: Position | null): ResolvedRange {
  let { lo, hi } = range;
  const raise = (key: string) => (key > lo ? (lo = key) : lo);
  const lower = (key: string) => (hi === null || key < hi ? (hi = key) : hi);
  if (range.order === "asc") {
    if (from !== null && from !== "end") raise(after(from.key));
    if (to !== null && to !== "end") lower(after(to.key));
  } else {
    if (from !== null && from !== "end") lower(from.key);
    if (to !== null && to !== "end") raise(to.key);
  }
  return { ...range, lo, hi };
}

function encodeCursor(position: Position, fingerprint: string): string {
  const key = position === "end" ? null : Buffer.from(position.key, "latin1").toString("base64url");
  return Buffer.from(JSON.stringify([fingerprint, key])).toString("base64url");
}

function decodeCursor(cursor: string, fingerprint: string): Position {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    throw invalidCursor("it is not a cursor");
  }
  if (!Array.isArray(parts) || parts.length !== 2) throw invalidCursor("it is not a cursor");
  if (parts[0] !== fingerprint) throw invalidCursor("it belongs to another query");
  return typeof parts[1] === "string"
    ? { key: Buffer.from(parts[1], "base64url").toString("latin1") }
    : "end";
}

/** Clients recognise this error by its data and start the pagination over. */
function invalidCursor(why: string): Error {
  return Object.assign(new Error(`InvalidCursor: the cursor cannot be used, ${why}.`), {
    data: { isConvexSystemError: true, paginationError: "InvalidCursor" },
  });
}
