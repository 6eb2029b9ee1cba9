"use client";

import { useQuery } from "convex/react";
import { api } from "../../../convex/_generated/api";
import { formatUnits } from "../../components/format.ts";
import { limitName } from "../../components/limit-text.ts";
import { MeterMark } from "../../components/meter-bar.tsx";
import { ScreenHead } from "../../components/panel.tsx";
import { Loading } from "../../components/states.tsx";
import { spentWords } from "../limit-words.ts";
import { UsageBar } from "../usage-bar.tsx";
import { useUsage } from "../use-usage.ts";
import { Estimates } from "./estimates.tsx";
import { FIRST_JOBS, JobTable } from "./job-table.tsx";
import { LiveJobs, NEWEST } from "./live-jobs.tsx";
import { FIRST_REFUSED, RefusedJobs } from "./refused-jobs.tsx";
import { StartJobs } from "./start-jobs.tsx";

export function JobsScreen() {
  // Three of the panels are there only for who has something in them, so none is shown before it is known whether they
  // are, and how long the list is that stands above the last.
  const known = [
    useUsage(),
    useQuery(api.gate.listJobs, NEWEST),
    useQuery(api.gate.estimates, {}),
    useQuery(api.screensEstimates.ended, {}),
    useQuery(api.gate.listJobs, FIRST_JOBS),
    useQuery(api.screensRefusals.recent, FIRST_REFUSED),
  ];
  return (
    <>
      <ScreenHead title="Jobs">
        A job holds tokens before it starts and never uses more than it holds. Start some, take a worker away,
        and watch the hold come back.
      </ScreenHead>
      <Room />
      <StartJobs />
      {known.includes(undefined) ? (
        <Loading what="your jobs" rows={6} />
      ) : (
        <>
          <LiveJobs />
          <Estimates />
          <JobTable />
          <RefusedJobs />
        </>
      )}
    </>
  );
}

/** What a job can still hold, where jobs are started: the whole picture is on the screen of the usage. */
function Room() {
  const usage = useUsage();
  return (
    <section aria-label="Room" className="flex flex-col gap-2">
      {usage === undefined ? <div className="h-2" /> : <UsageBar isSmall usage={usage} />}
      <p className="flex min-h-5 flex-wrap gap-x-4 gap-y-1 text-sm text-muted tabular-nums">
        {usage !== undefined && (
          <>
            <Part look="used" name="used" units={usage.usedUnits} />
            <Part
              look="held"
              name={usage.heldUnits > 0 ? `held, ${spentWords(usage)}` : "held"}
              units={usage.heldUnits}
            />
            {usage.freeUnits !== null && <Part look="free" name="free" units={usage.freeUnits} />}
            <span className="ml-auto first-letter:uppercase">{limitName(usage.limit)}</span>
          </>
        )}
      </p>
    </section>
  );
}

function Part({ look, name, units }: { look: "used" | "held" | "free"; name: string; units: number }) {
  return (
    <span className="flex items-center gap-1.5">
      <MeterMark look={look} />
      <span className="text-ink">{formatUnits(units)}</span> {name}
    </span>
  );
}
