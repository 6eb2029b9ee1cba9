"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { api } from "../../../convex/_generated/api";
import { formatUnits } from "../../components/format.ts";
import { Panel } from "../../components/panel.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { EstimateChart } from "./estimate-chart.tsx";

export type KindEstimate = FunctionReturnType<typeof api.gate.estimates>["kinds"][number];

const percent = (share: number): string => `${Math.round(share * 100)}%`;

const COLUMNS: readonly Column<KindEstimate>[] = [
  { name: "Kind", cell: ({ kind }) => <span className="font-medium">{kind}</span> },
  { name: "Jobs", isNumber: true, cell: ({ jobs }) => formatUnits(jobs) },
  { name: "Half used up to", isNumber: true, cell: ({ p50UsedUnits }) => formatUnits(p50UsedUnits) },
  { name: "Nine in ten", isNumber: true, cell: ({ p90UsedUnits }) => formatUnits(p90UsedUnits) },
  { name: "Half used of the hold", isNumber: true, cell: ({ p50UsedShare }) => percent(p50UsedShare) },
  { name: "Capped", isNumber: true, cell: ({ cappedShare }) => percent(cappedShare) },
  { name: "Held for nothing", isNumber: true, cell: ({ lockedUnits }) => formatUnits(lockedUnits) },
  {
    name: "Suggested hold",
    isNumber: true,
    cell: ({ suggestedUnits }) => <span className="font-semibold">{formatUnits(suggestedUnits)}</span>,
  },
];

/** What jobs were given and what they took, of the last 30 days. */
export function Estimates() {
  const estimates = useQuery(api.gate.estimates, {});
  if (estimates === undefined || estimates.kinds.length === 0) return null;
  return (
    <Panel
      id="estimates"
      title="Estimates against real cost"
      about="A hold that is too large keeps room from others; one too small ends the job early. Nine in ten jobs would have fitted into the suggested hold."
    >
      <EstimateChart kinds={estimates.kinds} />
      <Table label="Estimates by kind" columns={COLUMNS} rows={estimates.kinds} keyOf={({ kind }) => kind} />
    </Panel>
  );
}
