"use client";

import { useState } from "react";

export interface Pages {
  /** Of the page that is shown; null for the first. */
  readonly cursor: string | null;
  /** From 1. */
  readonly number: number;
  readonly forth: (cursor: string) => void;
  readonly back: () => void;
}

/** Where a reader is in a list that answers with cursors. Another filter (`of`) starts at the first page again. */
export function usePages(of: string): Pages {
  const [place, setPlace] = useState<{ of: string; cursors: readonly string[] }>({ of, cursors: [] });
  const cursors = place.of === of ? place.cursors : [];
  return {
    cursor: cursors.at(-1) ?? null,
    number: cursors.length + 1,
    forth: (cursor) => setPlace({ of, cursors: [...cursors, cursor] }),
    back: () => setPlace({ of, cursors: cursors.slice(0, -1) }),
  };
}
