"use client";

import type { ReactNode } from "react";
import { Pager } from "./list-controls.tsx";
import { Loading } from "./states.tsx";
import type { List, PageOfList } from "./use-list.ts";

/** What stands below the filters of a list: its rows, why there are none, and the way to other pages. */
export function ListBody<Row>(props: {
  list: List<PageOfList>;
  /** Of the page that is shown; undefined until there is one. */
  rows: readonly Row[] | undefined;
  /** As in "Pages of meters", and as in "Loading the meters…". */
  what: string;
  loading: string;
  /** Rows that the place is kept for. */
  loadingRows?: number;
  children: (rows: readonly Row[]) => ReactNode;
  isFiltered?: boolean;
  /** When the list is narrowed to nothing, or a page has none. */
  noneFits: ReactNode;
  /** When there is nothing at all. Without it `noneFits` says so. */
  noneYet?: ReactNode;
  /** What lies before a page and after it. */
  pageNames?: readonly [string, string];
}) {
  const { list, rows, isFiltered = false, noneYet } = props;
  // Rows stay while others are on their way. Their absence does not: it was that of another filter.
  if (rows === undefined || (rows.length === 0 && list.isArriving)) {
    return <Loading what={props.loading} rows={props.loadingRows} />;
  }
  const isNarrowed = isFiltered || list.pages.number > 1 || list.hasMore;
  return (
    <>
      {rows.length > 0
        ? props.children(rows)
        : isNarrowed || noneYet === undefined
          ? props.noneFits
          : noneYet}
      <Pager list={list} what={props.what} names={props.pageNames} />
    </>
  );
}
