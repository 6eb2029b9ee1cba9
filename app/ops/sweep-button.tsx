"use client";

import { useAction } from "convex/react";
import { useState } from "react";
import { api } from "../../convex/_generated/api";
import { Button } from "../components/button.tsx";

/** Gives back the holds of jobs whose lease has ended, now rather than at the next run. */
export function SweepButton() {
  const sweep = useAction(api.ops.sweep);
  const [isBusy, setIsBusy] = useState(false);
  const [swept, setSwept] = useState<string | null>(null);

  async function onSweep() {
    setIsBusy(true);
    setSwept(null);
    try {
      setSwept(sweptText(await sweep({})));
    } catch {
      setSwept("The sweep failed; the log of Convex says why.");
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <div className="flex flex-wrap items-center gap-3">
      <p role="status" className="text-sm text-muted empty:hidden">
        {swept}
      </p>
      <Button isBusy={isBusy} onClick={() => void onSweep()}>
        Sweep now
      </Button>
    </div>
  );
}

function sweptText({ expired, broken }: { expired: number; broken: number }): string {
  const many = (count: number): string => `${count} ${count === 1 ? "job" : "jobs"}`;
  const ended = expired === 0 ? null : `${many(expired)} expired, the holds are given back.`;
  // Each has opened a review.
  const left = broken === 0 ? null : `${many(broken)} could not be ended: see the reviews.`;
  return `Swept: ${[ended, left].filter((text) => text !== null).join(" ") || "no lease had ended."}`;
}
