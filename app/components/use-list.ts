"use client";

import { useQuery } from "convex/react";
import type { FunctionArgs, FunctionReference, FunctionReturnType } from "convex/server";
import { useMemo } from "react";
import { useKept } from "./use-kept.ts";
import { type Pages, usePages } from "./use-pages.ts";

/** What the screens need of an answer that is one page of a list. */
export interface PageOfList {
  /** Of the next page; null after the last. */
  readonly cursor: string | null;
}

export interface List<Page> {
  /** The page that was asked for; while it is on its way, the last one that came. Undefined before the first. */
  readonly page: Page | undefined;
  readonly pages: Pages;
  /** Whether there are later pages than the one that is shown. They may have what it has not. */
  readonly hasMore: boolean;
  /** Whether `page` is an earlier one still. Its cursor leads nowhere now, and what it has not says nothing. */
  readonly isArriving: boolean;
}

// oxlint-disable-next-line typescript/no-explicit-any -- any arguments: useList gives those of the query back
type Query<Answer> = FunctionReference<"query", "public", any, Answer>;

/** Of a search that answers with its best finds alone. */
const ONE_PAGE: Pages = { cursor: null, number: 1, forth: () => {}, back: () => {} };

/** A list in pages, live. Another filter starts at its first page; "skip" asks for nothing. */
export function useList<ListQuery extends Query<PageOfList>>(
  query: ListQuery,
  filter: Omit<FunctionArgs<ListQuery>, "cursor"> | "skip",
): List<FunctionReturnType<ListQuery>> {
  const pages = usePages(JSON.stringify(filter));
  const args = filter === "skip" ? filter : { ...filter, cursor: pages.cursor };
  const answer = useQuery(query, args as FunctionArgs<ListQuery> | "skip");
  const page = useKept(answer);
  const hasMore = page !== undefined && page.cursor !== null;
  return { page, pages, hasMore, isArriving: answer === undefined };
}

/** A search that answers at once with as much as it shows: a list of one page. "skip" asks for nothing. */
export function useSearch<Answer extends object>(
  query: Query<Answer>,
  args: Record<string, string> | "skip",
): List<Answer & PageOfList> {
  const answer = useKept(useQuery(query, args));
  const page = useMemo(() => (answer === undefined ? undefined : { ...answer, cursor: null }), [answer]);
  return { page, pages: ONE_PAGE, hasMore: false, isArriving: answer === undefined };
}
