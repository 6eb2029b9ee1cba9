"use client";

import { ScreenHead } from "../../components/panel.tsx";
import { Estimates } from "./estimates.tsx";
import { JobTable } from "./job-table.tsx";
import { LiveJobs } from "./live-jobs.tsx";
import { StartJobs } from "./start-jobs.tsx";

export function JobsScreen() {
  return (
    <>
      <ScreenHead title="Jobs">
        A job holds tokens before it starts and never uses more than it holds. Start some, take a worker away,
        and watch the hold come back.
      </ScreenHead>
      <StartJobs />
      <LiveJobs />
      <Estimates />
      <JobTable />
    </>
  );
}
