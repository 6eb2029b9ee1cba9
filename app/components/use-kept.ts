"use client";

import { useState } from "react";

/**
 * The last value that was there: a list keeps its rows while the next page or filter is on its way. The value must be
 * the same object from one render to the next, as an answer of a query is.
 */
export function useKept<T>(value: T | undefined): T | undefined {
  const [kept, setKept] = useState(value);
  if (value !== undefined && value !== kept) setKept(value);
  return value ?? kept;
}
