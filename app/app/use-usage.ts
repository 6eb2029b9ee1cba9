"use client";

import { useAction } from "convex/react";
import { useEffect } from "react";
import { api } from "../../convex/_generated/api";
import { useUntilEnd } from "../components/use-until-end.ts";
import { LimitAsks } from "./limit-asks.ts";
import type { Usage } from "./limit-words.ts";

/** Of this page: a screen that is opened again is no reason to ask again. */
const asks = new LimitAsks();

/**
 * Usage of the current cycle, live, also over the end of that cycle. A limit is read when a job needs it, so whoever
 * comes back after a while would see none: it is read once then.
 */
export function useUsage(): Usage | undefined {
  const usage = useUntilEnd(api.gate.usage, {}, ({ cycle }) => cycle.endMs);
  const refresh = useAction(api.limits.refreshNow);
  const unknownOf = usage !== undefined && usage.limitState === "unknown" ? usage.accountId : null;
  useEffect(() => {
    // What comes of it is seen in the usage itself; a provider that does not answer leaves it as it is.
    if (unknownOf !== null && asks.take(unknownOf, Date.now())) void refresh({}).catch(() => undefined);
  }, [unknownOf, refresh]);
  return usage;
}
