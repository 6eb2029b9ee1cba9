"use client";

import { useAction, useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { Play } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Button } from "../../components/button.tsx";
import { formatUnits } from "../../components/format.ts";
import { Notice } from "../../components/notice.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Loading } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { RunList } from "../run-list.tsx";
import { FoundPanel } from "./found-panel.tsx";
import { SightingsPanel } from "./sightings-panel.tsx";

type Ran = Extract<FunctionReturnType<typeof api.drift.check>, { kind: "ran" }>;

const RUNS_SHOWN = 5;
/** The words of the counts, in the order in which they matter. */
const OUTCOMES = {
  repaired: "repaired",
  sighted: "seen for the first time",
  waiting: "waiting for an event or a second reading",
  unclear: "unclear at the provider",
  gone: "not at the provider any more",
  failed: "not readable",
  skipped: "skipped",
  same: "the same",
} as const;

/** Whether the plans that events have told are those of the provider. */
export function DriftScreen() {
  return (
    <>
      <ScreenHead title="Plan drift">
        Webhooks may get lost. Each hour every customer&apos;s plan and agreements are compared with the
        provider. A difference is believed when two readings five minutes apart show it, and repaired through
        the same guards as events.
      </ScreenHead>
      <RunsPanel />
      <SightingsPanel />
      <FoundPanel />
    </>
  );
}

function RunsPanel() {
  const runs = useQuery(api.screensReconciliation.runs, { name: "drift" });
  const check = useAction(api.drift.check);
  const [isAsked, setIsAsked] = useState(false);
  const [ran, setRan] = useState<Ran | null>(null);

  async function onCheck() {
    setIsAsked(true);
    setRan(null);
    try {
      const answer = await check({});
      if (answer.kind === "ran") setRan(answer);
    } catch {
      toast.failed("The check did not end", "The log of Convex says why.");
    } finally {
      setIsAsked(false);
    }
  }

  return (
    <Panel
      id="runs"
      title="Checks"
      about={
        <>
          Every hour, and whenever you ask.{" "}
          {runs !== undefined && runs.lastGoodAtMs !== null && (
            <>
              The last good one ended <Ago ms={runs.lastGoodAtMs} />.
            </>
          )}
        </>
      }
      aside={
        <Button look="primary" isBusy={isAsked} onClick={() => void onCheck()}>
          {!isAsked && <Play aria-hidden className="size-4" />}
          {isAsked ? "Checking" : "Check now"}
        </Button>
      }
    >
      {ran !== null && <Checked ran={ran} />}
      {runs === undefined ? (
        <Loading what="the checks" rows={2} />
      ) : (
        runs.ended.length > 0 && <RunList runs={runs.ended.slice(0, RUNS_SHOWN)} describe={describe} />
      )}
    </Panel>
  );
}

function Checked({ ran: { status, counts, accounts } }: { ran: Ran }) {
  const { found, went } = describe(counts);
  const error = accounts.find((one) => one.error !== null)?.error;
  return (
    <Notice
      isNews
      tone={status === "failed" ? "bad" : "good"}
      title={
        status === "failed"
          ? "Not every customer could be read; it is tried again by itself"
          : status === "running"
            ? "There is much to do: the check goes on in the background"
            : "Checked"
      }
    >
      {went}: {found}.{error !== undefined && error !== null && <span className="block">{error}</span>}
    </Notice>
  );
}

function describe(counts: Readonly<Record<string, number>>): { found: string; went: string } {
  const accounts = counts["accounts"] ?? 0;
  const found = Object.entries(OUTCOMES)
    .map(([name, words]) => ({ count: counts[name] ?? 0, words }))
    .filter(({ count }) => count > 0)
    .map(({ count, words }) => `${formatUnits(count)} ${words}`);
  return {
    found: found.length === 0 ? "nobody to compare" : found.join(", "),
    went: `${formatUnits(accounts)} ${accounts === 1 ? "customer" : "customers"}`,
  };
}
