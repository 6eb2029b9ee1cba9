"use client";

import { useMutation, useQuery } from "convex/react";
import { api } from "../../convex/_generated/api";
import type { JobView } from "../../lib/gate/job-view.ts";
import { formatDuration, formatInstant, formatUnits } from "../components/format.ts";
import { buttonClass, Loading, Panel } from "../components/panel.tsx";
import { useNow } from "../components/use-now.ts";

const JOBS_SHOWN = 20;

const STATUS_TONES: Record<JobView["status"], string> = {
  running: "text-accent",
  completed: "text-good",
  failed: "text-bad",
  cancelled: "text-muted",
  capped: "text-warn",
  expired: "text-warn",
};

/** The newest jobs, live: their steps charge while one looks. */
export function JobsPanel() {
  const listed = useQuery(api.gate.listJobs, { cursor: null, limit: JOBS_SHOWN });
  return (
    <Panel id="jobs" title="Jobs" aside={<p className="text-sm text-muted">The newest {JOBS_SHOWN}</p>}>
      {listed === undefined ? (
        <Loading what="your jobs" />
      ) : listed.jobs.length === 0 ? (
        <p className="text-sm text-muted">
          No job yet. Start one above, or over the API with a key from below.
        </p>
      ) : (
        <ul className="flex flex-col divide-y divide-line">
          {listed.jobs.map((job) => (
            <JobRow key={job.id} job={job} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function JobRow({ job }: { job: JobView }) {
  const kill = useMutation(api.runner.kill);
  const settle = useMutation(api.gate.settle);
  const nowMs = useNow();
  const isRunning = job.status === "running";
  return (
    <li className="grid gap-x-4 gap-y-1 py-3 text-sm sm:grid-cols-[1fr_auto]">
      <p className="min-w-0 truncate">
        <span className={`font-medium ${STATUS_TONES[job.status]}`}>{job.status}</span>{" "}
        <span className="font-mono text-muted" title={job.key}>
          {job.key}
        </span>
      </p>
      <p className="tabular-nums sm:text-right">
        {formatUnits(job.usedUnits)} of {formatUnits(job.heldUnits)} used
        {job.returnedUnits > 0 && `, ${formatUnits(job.returnedUnits)} returned`}
        {job.overCapUnits > 0 && `, ${formatUnits(job.overCapUnits)} over the cap`}
      </p>
      <p className="text-muted">
        Step {job.step}
        {job.runner !== null && ` of ${job.runner.steps}`}
        {nowMs !== null &&
          (isRunning
            ? `; lease ends in ${formatDuration(job.leaseExpiresAtMs - nowMs)}`
            : `; ended ${formatInstant(job.endedAtMs ?? job.startedAtMs)}`)}
      </p>
      {isRunning && (
        <p className="flex gap-2 sm:justify-end">
          <button
            type="button"
            className={buttonClass}
            title="Takes the worker away, as a crash would. The hold comes back when the lease has ended."
            onClick={() => void kill({ jobId: job.id })}
          >
            Kill the worker
          </button>
          <button
            type="button"
            className={buttonClass}
            onClick={() => void settle({ jobId: job.id, outcome: "cancelled" })}
          >
            Cancel
          </button>
        </p>
      )}
    </li>
  );
}
