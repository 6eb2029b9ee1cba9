"use client";

import { api } from "../../convex/_generated/api";
import { useUntilEnd } from "../components/use-until-end.ts";
import type { Usage } from "./limit-words.ts";

/** Usage of the current cycle, live, also over the end of that cycle. */
export function useUsage(): Usage | undefined {
  return useUntilEnd(api.gate.usage, {}, ({ cycle }) => cycle.endMs);
}
