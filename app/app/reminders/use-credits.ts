"use client";

import type { FunctionReturnType } from "convex/server";
import { api } from "../../../convex/_generated/api";
import { useUntilEnd } from "../../components/use-until-end.ts";

export type CreditBalance = FunctionReturnType<typeof api.credits.balance>;

/** The credits of the current month, live, also over the end of that month. */
export function useCredits(): CreditBalance | undefined {
  return useUntilEnd(api.credits.balance, {}, ({ nextPeriodStartMs }) => nextPeriodStartMs);
}
