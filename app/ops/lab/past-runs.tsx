"use client";

import type { FunctionReturnType } from "convex/server";
import { api } from "../../../convex/_generated/api";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { formatUnits } from "../../components/format.ts";
import { ListBody } from "../../components/list-body.tsx";
import { Panel } from "../../components/panel.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { useList } from "../../components/use-list.ts";

interface Row extends Summary {
  readonly isShown: boolean;
  readonly onOpen: (labRunId: string) => void;
}

type Summary = FunctionReturnType<typeof api.lab.list>["runs"][number];

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Run",
    cell: ({ jobs, units, limitUnits }) => (
      <span className="tabular-nums">
        {jobs} × {formatUnits(units)} against {formatUnits(limitUnits)}
      </span>
    ),
  },
  {
    name: "Plain check",
    isNumber: true,
    cell: ({ plain }) => (
      <>
        {formatUnits(plain.spentUnits)}
        {plain.overUnits > 0 && <span className="text-bad"> ({formatUnits(plain.overUnits)} over)</span>}
      </>
    ),
  },
  { name: "Hold", isNumber: true, cell: ({ held }) => formatUnits(held.spentUnits) },
  { name: "Refused by the hold", isNumber: true, cell: ({ held }) => formatUnits(held.refused) },
  { name: "Started", cell: ({ startedAtMs }) => <Instant ms={startedAtMs} /> },
  {
    name: "Open",
    isActions: true,
    cell: ({ labRunId, status, jobs, units, isShown, onOpen }) =>
      isShown ? (
        <Badge tone="accent">{status === "running" ? "running" : "shown above"}</Badge>
      ) : (
        <Button size="sm" onClick={() => onOpen(labRunId)}>
          Open
          <span className="sr-only">
            {" "}
            the run of {jobs} × {formatUnits(units)}
          </span>
        </Button>
      ),
  },
];

/** Every run, the newest first, live. */
export function PastRuns(props: { shownId: string | null; onOpen: (labRunId: string) => void }) {
  const { shownId, onOpen } = props;
  const list = useList(api.lab.list, {});
  const rows = list.page?.runs.map((run) => ({ ...run, isShown: run.labRunId === shownId, onOpen }));
  return (
    <Panel id="past" title="Past runs">
      <ListBody
        list={list}
        rows={rows}
        what="past runs"
        loading="past runs"
        noneFits={
          <p className="text-sm text-muted">
            None yet. The first one will be here as soon as it has started.
          </p>
        }
      >
        {(runs) => (
          <Table label="Past runs" columns={COLUMNS} rows={runs} keyOf={({ labRunId }) => labRunId} />
        )}
      </ListBody>
    </Panel>
  );
}
