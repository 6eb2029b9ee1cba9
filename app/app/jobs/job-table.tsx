"use client";

import { Inbox, SearchX } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import type { JobView } from "../../../lib/gate/job-view.ts";
import { formatUnits } from "../../components/format.ts";
import { ListBody } from "../../components/list-body.tsx";
import { FilterField, ListControls, SearchField } from "../../components/list-controls.tsx";
import { Panel } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { useList, useSearch } from "../../components/use-list.ts";
import { JOB_STATUSES, JobStatus } from "./job-status.tsx";

const PAGE = 20;
/** What the list asks for first, before it is narrowed. */
export const FIRST_JOBS = { cursor: null, limit: PAGE };

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
  const isSearch = keyStart !== "";
  const listed = useList(
    api.gate.listJobs,
    isSearch ? "skip" : { ...(status === "" ? {} : { status }), limit: PAGE },
  );
  const searched = useSearch(api.screensLists.jobs, isSearch ? { keyStart } : "skip");
  const list = isSearch ? searched : listed;
  // A search finds by key; its status is looked at here.
  const found = list.page?.jobs.filter((job) => !isSearch || status === "" || job.status === status);
  return (
    <Panel id="jobs" title="All jobs">
      <ListControls>
        <SearchField label="Search by key" placeholder="Key begins with…" onSearch={setKeyStart} />
        <FilterField
          label="Status"
          className="sm:w-40"
          options={[["", "Any status"], ...JOB_STATUSES.map((one) => [one, one] as const)]}
          value={status}
          onChange={setStatus}
        />
      </ListControls>
      <ListBody
        list={list}
        rows={found}
        what="jobs"
        loading="your jobs"
        loadingRows={5}
        isFiltered={isSearch || status !== ""}
        noneFits={
          <Empty icon={SearchX} title="No job fits">
            Change the search or the status.
          </Empty>
        }
        noneYet={
          <Empty icon={Inbox} title="No job yet">
            Start one above, or over the API with a key.
          </Empty>
        }
      >
        {(jobs) => <Table label="Jobs" columns={COLUMNS} rows={jobs} keyOf={({ id }) => id} />}
      </ListBody>
      {isSearch && searched.page?.hasMore === true && (
        <p className="text-sm text-muted">The first {searched.page.jobs.length}; type more of the key.</p>
      )}
    </Panel>
  );
}
