"use client";

import { Until } from "../../components/time.tsx";
import { useUsage } from "../use-usage.ts";

/**
 * What to do while own jobs hold the room: `next`, and when the first of their leases ends, as it stands now. Each sign
 * of life of a worker moves that, so the instant of the answer is soon past.
 */
export function HeldNext({ next }: { next: string }) {
  const usage = useUsage();
  if (usage === undefined) return next;
  // Jobs that another cycle admitted hold nothing of this one.
  const leases = usage.running
    .filter(({ cycle }) => cycle === usage.cycle.name)
    .map(({ leaseExpiresAtMs }) => leaseExpiresAtMs);
  if (leases.length === 0) return "None of them runs any more: try again.";
  return (
    <>
      {next} The earliest lease ends <Until ms={Math.min(...leases)} over="about now" />, unless its worker
      renews it.
    </>
  );
}
