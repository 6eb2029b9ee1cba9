import type { z } from "zod";

import type { ManagementApi, Query, ReadAnswer } from "./api.ts";
import type { Budget } from "./back-off.ts";
import { failure, type Failure } from "./failure.ts";

/** Kinde gives 10 without being asked and at most 500; long lists hold its concurrency slots longer (facts §3). */
export const PAGE_SIZE = 100;
/** A customer with two thousand entitlements is a fault, and a list that never ends must not be followed. */
export const PAGES_MAX = 20;

export interface PageOf<Page> {
  readonly ids: readonly string[];
  readonly hasMore: boolean;
  readonly page: Page;
}

/**
 * Reads the pages of a list, each after the last id of the one before. `sentAtMs` is that of the first page: what
 * changed after it may be missing. A page that says there is more but moves nowhere is `bad_answer`.
 */
export async function readPages<Schema extends z.ZodType, Page>(
  api: ManagementApi,
  budget: Budget,
  list: {
    readonly path: string;
    readonly query: Query;
    readonly schema: Schema;
    readonly split: (value: z.output<Schema>) => PageOf<Page>;
    readonly pagesMax?: number;
  },
): Promise<ReadAnswer<{ readonly pages: readonly Page[]; readonly truncated: boolean }> | Failure> {
  const { path, schema, split, pagesMax = PAGES_MAX } = list;
  const pages: Page[] = [];
  const seen = new Set<string>();
  let query: Query = { ...list.query, page_size: String(PAGE_SIZE) };
  let firstSentAtMs: number | null = null;
  for (;;) {
    const answer = await api.read(path, query, schema, budget);
    if (answer.kind === "failed") return answer;
    firstSentAtMs ??= answer.sentAtMs;
    const { ids, hasMore, page } = split(answer.value);
    pages.push(page);
    if (!hasMore || pages.length === pagesMax) {
      return { kind: "read", value: { pages, truncated: hasMore }, sentAtMs: firstSentAtMs };
    }
    const cursor = ids.at(-1);
    if (cursor === undefined || seen.has(cursor)) {
      const why = cursor === undefined ? "an empty page says there is more" : "the same page came twice";
      return failure({ code: "bad_answer", status: 200, message: `GET ${path}: ${why}` });
    }
    seen.add(cursor);
    query = { ...query, starting_after: cursor };
  }
}

/** The failure of a list that must be known whole and is longer than we read. */
export function tooLong(path: string): Failure {
  const message = `GET ${path}: more than ${PAGES_MAX * PAGE_SIZE} items`;
  return failure({ code: "bad_answer", status: 200, message });
}
