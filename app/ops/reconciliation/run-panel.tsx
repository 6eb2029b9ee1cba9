"use client";

import { useAction, useQuery } from "convex/react";
import { Play } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { MINUTE_MS } from "../../../lib/shared/durations.ts";
import { Button } from "../../components/button.tsx";
import { formatUnits } from "../../components/format.ts";
import { Panel } from "../../components/panel.tsx";
import { ProgressBar } from "../../components/progress-bar.tsx";
import { Loading } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { useNow } from "../../components/use-now.ts";
import { RunList } from "../run-list.tsx";
import { type Ran, RunResult } from "./run-result.tsx";
import { describeCounts } from "./words.ts";

/**
 * A run may take hours, in one action after another. None lives longer than this, and each says how far it has come:
 * a run that has said nothing for as long has stopped without an end.
 */
const STUCK_AFTER_MS = 10 * MINUTE_MS;
const RUNS_SHOWN = 5;

/** Runs the reconciler for all accounts, shows how far it has come, and how the last runs ended. */
export function RunPanel() {
  const runs = useQuery(api.screensReconciliation.runs, { name: "reconciler" });
  const reconcile = useAction(api.ops.reconcile);
  const nowMs = useNow();
  const [isAsked, setIsAsked] = useState(false);
  const [ran, setRan] = useState<Ran | null>(null);

  async function onRun() {
    setIsAsked(true);
    setRan(null);
    try {
      const answer = await reconcile({});
      if (answer.kind === "ran") setRan(answer);
    } catch {
      toast.failed("The run did not end well", "Its row says how far it came; the log of Convex says why.");
    } finally {
      setIsAsked(false);
    }
  }

  const running = runs?.running ?? null;
  const isRunning = running !== null && nowMs !== null && nowMs - running.progressAtMs < STUCK_AFTER_MS;
  return (
    <Panel
      id="runs"
      title="Runs"
      about={
        <>
          Every night at 03:17 UTC, and whenever you ask.{" "}
          {runs !== undefined &&
            (runs.lastGoodAtMs === null ? (
              "No run has ended well yet."
            ) : (
              <>
                The last good one ended <Ago ms={runs.lastGoodAtMs} />.
              </>
            ))}
        </>
      }
      aside={
        <Button look="primary" isBusy={isAsked || isRunning} onClick={() => void onRun()}>
          {!isAsked && !isRunning && <Play aria-hidden className="size-4" />}
          {isAsked || isRunning ? "Running" : "Run now"}
        </Button>
      }
    >
      {runs === undefined ? (
        <Loading what="the runs" />
      ) : (
        <>
          {running !== null && isRunning && <Progress counts={running.counts} />}
          {ran !== null && !isAsked && <RunResult ran={ran} />}
          {runs.ended.length > 0 && (
            <RunList runs={runs.ended.slice(0, RUNS_SHOWN)} describe={describeCounts} />
          )}
        </>
      )}
    </Panel>
  );
}

function Progress({ counts }: { counts: Readonly<Record<string, number>> }) {
  const total = useQuery(api.screensReconciliation.accountCount, {}) ?? null;
  const done = counts["accounts"] ?? 0;
  const { went, found } = describeCounts(counts);
  return (
    <div className="flex flex-col gap-2 rounded-lg border border-line bg-page p-4 text-sm">
      <p role="status" className="font-medium">
        {total === null
          ? `${formatUnits(done)} accounts done`
          : `${formatUnits(Math.min(done, total))} of ${formatUnits(total)} accounts done`}
      </p>
      <ProgressBar label="Accounts done" done={done} whole={total} />
      <p className="text-muted">
        {went} so far: {found}
      </p>
    </div>
  );
}
