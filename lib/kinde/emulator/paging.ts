/** Lists as Kinde cuts them (facts §2): a page size, a cursor that is an item's id, and whether there is more. */

const PAGE_SIZE_DEFAULT = 10;
const PAGE_SIZE_MAX = 500;

export interface PageRequest {
  readonly size: number;
  readonly startingAfter: string | null;
  readonly endingBefore: string | null;
}

export type ParsedPageRequest = { ok: true; page: PageRequest } | { ok: false; message: string };

/** A size above 500 gives 500. */
export function readPageRequest(query: URLSearchParams): ParsedPageRequest {
  const sizeText = query.get("page_size");
  const size = sizeText === null || sizeText === "" ? PAGE_SIZE_DEFAULT : Number(sizeText);
  if (!Number.isInteger(size) || size < 1) {
    return { ok: false, message: "page_size must be a whole number from 1" };
  }
  const startingAfter = query.get("starting_after") || null;
  const endingBefore = query.get("ending_before") || null;
  if (startingAfter !== null && endingBefore !== null) {
    return { ok: false, message: "starting_after and ending_before exclude each other" };
  }
  return { ok: true, page: { size: Math.min(size, PAGE_SIZE_MAX), startingAfter, endingBefore } };
}

export type Page<Item> =
  | { kind: "page"; items: readonly Item[]; hasMore: boolean }
  | { kind: "unknown_cursor"; cursor: string };

export function pageOf<Item extends { readonly id: string }>(
  items: readonly Item[],
  { size, startingAfter, endingBefore }: PageRequest,
): Page<Item> {
  const cursor = startingAfter ?? endingBefore;
  const at = cursor === null ? -1 : items.findIndex((item) => item.id === cursor);
  if (cursor !== null && at === -1) return { kind: "unknown_cursor", cursor };
  if (endingBefore !== null) {
    const from = Math.max(0, at - size);
    return { kind: "page", items: items.slice(from, at), hasMore: from > 0 };
  }
  const end = at + 1 + size;
  return { kind: "page", items: items.slice(at + 1, end), hasMore: end < items.length };
}
