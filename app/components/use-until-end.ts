"use client";

import { useQuery } from "convex/react";
import type { FunctionArgs, FunctionReference, FunctionReturnType } from "convex/server";
import { useState } from "react";
import { lookAgainAtMs } from "./look-again.ts";
import { useNowAs } from "./use-now.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- any arguments, afterMs among them: the hook gives them back
type Query = FunctionReference<"query", "public", any, object | null>;

interface Seen<Answer> {
  readonly of: string;
  readonly answer: Answer | undefined;
  readonly afterMs: number | null;
}

/**
 * The answer to a question about the current cycle or month, live. No row changes when that ends, so nothing would
 * run the query again: it is asked anew then, with an instant that makes it another question.
 */
export function useUntilEnd<Asked extends Query>(
  query: Asked,
  args: Omit<FunctionArgs<Asked>, "afterMs">,
  endMsOf: (answer: NonNullable<FunctionReturnType<Asked>>) => number,
): FunctionReturnType<Asked> | undefined {
  const of = JSON.stringify(args);
  const [seen, setSeen] = useState<Seen<FunctionReturnType<Asked>>>({ of, answer: undefined, afterMs: null });
  const known = seen.of === of ? seen : { of, answer: undefined, afterMs: null };
  const asked = known.afterMs === null ? args : { ...args, afterMs: known.afterMs };
  const fresh = useQuery(query, asked as FunctionArgs<Asked>);
  const answer = fresh === undefined ? known.answer : fresh;
  const endMs = answer == null ? null : endMsOf(answer);
  const againMs = useNowAs((nowMs) => (endMs === null ? null : lookAgainAtMs(endMs, nowMs)));
  // Kept after the end, too: the question without it may be answered from before.
  const afterMs = againMs ?? known.afterMs;
  if (seen !== known || answer !== seen.answer || afterMs !== seen.afterMs) setSeen({ of, answer, afterMs });
  return answer;
}
