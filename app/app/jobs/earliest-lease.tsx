"use client";

import { Until } from "../../components/time.tsx";
import { useUsage } from "../use-usage.ts";

/**
 * When the first of the own leases ends, as it stands now: each sign of life of its worker moves it, so the instant of
 * an answer is soon past.
 */
export function EarliestLease() {
  const usage = useUsage();
  if (usage === undefined) return null;
  // Jobs that another cycle admitted hold nothing of this one.
  const leases = usage.running
    .filter(({ cycle }) => cycle === usage.cycle.name)
    .map(({ leaseExpiresAtMs }) => leaseExpiresAtMs);
  if (leases.length === 0) return "None of them runs any more: try again.";
  return (
    <>
      The earliest lease ends <Until ms={Math.min(...leases)} over="about now" />, unless its worker renews
      it.
    </>
  );
}
