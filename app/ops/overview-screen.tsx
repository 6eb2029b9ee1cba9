"use client";

import { useQuery } from "convex/react";
import { api } from "../../convex/_generated/api";
import { isTroubled, PERIODIC_WORKERS, workerState } from "../../lib/shared/periodic-workers.ts";
import { Notice } from "../components/notice.tsx";
import { ScreenHead } from "../components/panel.tsx";
import { useNow } from "../components/use-now.ts";
import { SweepButton } from "./sweep-button.tsx";
import { WaitingPanel } from "./waiting-panel.tsx";
import { WorkersPanel } from "./workers-panel.tsx";

/** Whether everything that should happen by itself does, and what waits for a person. */
export function OverviewScreen() {
  const health = useQuery(api.health.forOperators, {});
  const nowMs = useNow();
  const troubled = PERIODIC_WORKERS.filter((worker) => {
    const run = health?.runs.find(({ name }) => name === worker.name);
    return nowMs !== null && isTroubled(workerState(worker, run, nowMs));
  });
  return (
    <>
      <ScreenHead title="Overview" action={<SweepButton />}>
        The workers that run by themselves, and what waits for somebody.
      </ScreenHead>
      {health !== undefined && troubled.length > 0 && (
        <Notice
          isNews
          tone="bad"
          title={troubled.length === 1 ? "A worker is behind" : `${troubled.length} workers are behind`}
          next="Its runs fail, or the last good one is longer ago than several runs. Are the Convex deployment and the billing provider up, and does the log say why runs fail?"
        >
          {troubled.map(({ name }) => name).join(", ")}
        </Notice>
      )}
      <WaitingPanel />
      <WorkersPanel runs={health?.runs} />
    </>
  );
}
