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
      const { expired } = await sweep({});
      setSwept(
        expired === 0
          ? "Swept: no lease had ended."
          : `Swept: ${expired} ${expired === 1 ? "job" : "jobs"} expired, the holds are given back.`,
      );
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
