"use client";

import type { JobView } from "../../lib/gate/job-view.ts";
import { countRunning, RUNNING_LISTED_MAX } from "../../lib/gate/running.ts";
import { formatUnits } from "../components/format.ts";
import { MeterBar } from "../components/meter-bar.tsx";
import { Panel } from "../components/panel.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Countdown } from "../components/time.tsx";

const COLUMNS: readonly Column<JobView>[] = [
  {
    name: "Job",
    cell: (job) => (
      <span className="block max-w-56 truncate sm:max-w-72" title={job.key}>
        <span className="font-medium">{job.kind}</span>{" "}
        <span className="font-mono text-xs text-muted">{job.key}</span>
      </span>
    ),
  },
  { name: "Holds", isNumber: true, cell: (job) => formatUnits(job.heldUnits) },
  {
    name: "Used of it",
    cell: (job) => (
      <span className="flex items-center gap-2">
        <span className="w-20 sm:w-28">
          <MeterBar
            isSmall
            label={`${formatUnits(job.usedUnits)} of ${formatUnits(job.heldUnits)} used`}
            whole={job.heldUnits}
            parts={[{ name: "used", units: job.usedUnits, look: "used" }]}
          />
        </span>
        <span className="tabular-nums">{formatUnits(job.usedUnits)}</span>
      </span>
    ),
  },
  {
    name: "Lease ends in",
    isNumber: true,
    cell: (job) => <Countdown untilMs={job.leaseExpiresAtMs} over="over: it comes back" />,
  },
];

/** The jobs behind the held units. */
export function HoldList({ running }: { running: readonly JobView[] }) {
  const isCut = running.length >= RUNNING_LISTED_MAX;
  return (
    <Panel
      id="holds"
      title={running.length === 1 ? "1 hold" : `${countRunning(running.length)} holds`}
      about={`Each running job keeps its hold until it ends, or until its lease ends without a sign of life.${isCut ? ` Here are the ${RUNNING_LISTED_MAX} whose lease ends first.` : ""}`}
    >
      <Table label="Holds" columns={COLUMNS} rows={running} keyOf={(job) => job.id} />
    </Panel>
  );
}
