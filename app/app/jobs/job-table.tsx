"use client";

import { useQuery } from "convex/react";
import { Inbox, SearchX } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import type { JobView } from "../../../lib/gate/job-view.ts";
import { SelectField } from "../../components/field.tsx";
import { formatUnits } from "../../components/format.ts";
import { ListControls, Pager, SearchField } from "../../components/list-controls.tsx";
import { Panel } from "../../components/panel.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { useKept } from "../../components/use-kept.ts";
import { usePages } from "../../components/use-pages.ts";
import { JOB_STATUSES, JobStatus } from "./job-status.tsx";

const PAGE = 20;

const COLUMNS: readonly Column<JobView>[] = [
  {
    name: "Job",
    cell: (job) => (
      <span className="block max-w-60 truncate" title={job.key}>
        <span className="font-medium">{job.kind}</span>{" "}
        <span className="font-mono text-xs text-muted">{job.key}</span>
      </span>
    ),
  },
  { name: "Status", cell: (job) => <JobStatus status={job.status} /> },
  { name: "Held", isNumber: true, cell: (job) => formatUnits(job.heldUnits) },
  {
    name: "Used",
    isNumber: true,
    cell: (job) => (
      <>
        {formatUnits(job.usedUnits)}
        {job.overCapUnits > 0 && (
          <span className="text-warn" title="Wanted beyond the hold, never charged">
            {" "}
            (+{formatUnits(job.overCapUnits)} cut)
          </span>
        )}
      </>
    ),
  },
  { name: "Returned", isNumber: true, cell: (job) => formatUnits(job.returnedUnits) },
  { name: "Steps", isNumber: true, cell: (job) => job.step },
  { name: "Started", cell: (job) => <Instant ms={job.startedAtMs} /> },
];

/** Every job, newest first, live. */
export function JobTable() {
  const [status, setStatus] = useState<JobView["status"] | "">("");
  const [keyStart, setKeyStart] = useState("");
  const pages = usePages(status);
  const isSearch = keyStart !== "";
  const listed = useKept(
    useQuery(
      api.gate.listJobs,
      isSearch ? "skip" : { ...(status === "" ? {} : { status }), cursor: pages.cursor, limit: PAGE },
    ),
  );
  const searched = useKept(useQuery(api.screensLists.jobs, isSearch ? { keyStart } : "skip"));
  const page = isSearch ? searched : listed;
  // A search finds by key; its status is looked at here.
  const jobs = page?.jobs.filter((job) => !isSearch || status === "" || job.status === status);
  return (
    <Panel id="jobs" title="All jobs">
      <ListControls>
        <SearchField label="Search by key" placeholder="Key begins with…" onSearch={setKeyStart} />
        <SelectField
          label="Status"
          hideLabel
          className="sm:w-40"
          value={status}
          onChange={(event) => setStatus(event.target.value as typeof status)}
        >
          <option value="">Any status</option>
          {JOB_STATUSES.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </SelectField>
      </ListControls>
      {jobs === undefined ? (
        <Loading what="your jobs" rows={5} />
      ) : jobs.length > 0 ? (
        <Table label="Jobs" columns={COLUMNS} rows={jobs} keyOf={(job) => job.id} />
      ) : isSearch || status !== "" ? (
        <Empty icon={SearchX} title="No job fits">
          Change the search or the status.
        </Empty>
      ) : (
        <Empty icon={Inbox} title="No job yet">
          Start one above, or over the API with a key.
        </Empty>
      )}
      {isSearch && searched?.hasMore === true && (
        <p className="text-sm text-muted">The first {searched.jobs.length}; type more of the key.</p>
      )}
      {!isSearch && listed !== undefined && <Pager pages={pages} nextCursor={listed.cursor} what="jobs" />}
    </Panel>
  );
}
