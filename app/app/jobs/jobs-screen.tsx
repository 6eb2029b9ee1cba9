"use client";

import { useQuery } from "convex/react";
import { api } from "../../../convex/_generated/api";
import { ScreenHead } from "../../components/panel.tsx";
import { Loading } from "../../components/states.tsx";
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
