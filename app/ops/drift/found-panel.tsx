"use client";

import type { FunctionReturnType } from "convex/server";
import { SearchX, Workflow } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Badge } from "../../components/badge.tsx";
import { ListBody } from "../../components/list-body.tsx";
import { FilterField, ListControls, optionsOf, SearchField } from "../../components/list-controls.tsx";
import { Panel } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { useList } from "../../components/use-list.ts";
import { OwnerLink } from "../owner-link.tsx";
import { PlanChange } from "./plan-change.tsx";

type Found = FunctionReturnType<typeof api.screensOperators.drift>["evidence"][number];
type Outcome = Found["outcome"];

const OUTCOMES: Record<Outcome, string> = { repaired: "Repaired", gone: "Gone by itself" };

const COLUMNS: readonly Column<Found>[] = [
  { name: "Customer", cell: ({ account }) => <OwnerLink account={account} /> },
  {
    name: "Plan",
    cell: ({ beforePlanKey, providerPlanKey, endedAgreements }) => (
      <PlanChange from={beforePlanKey} to={providerPlanKey} ended={endedAgreements} />
    ),
  },
  {
    name: "Outcome",
    cell: ({ outcome }) => (
      <Badge tone={outcome === "repaired" ? "good" : "neutral"}>{OUTCOMES[outcome]}</Badge>
    ),
  },
  { name: "First reading", cell: ({ firstSentAtMs }) => <Instant ms={firstSentAtMs} /> },
  { name: "Second reading", cell: ({ secondSentAtMs }) => <Instant ms={secondSentAtMs} /> },
];

/** Differences that were found, and what became of them. */
export function FoundPanel() {
  const [outcome, setOutcome] = useState<Outcome | "">("");
  const [text, setText] = useState("");
  const list = useList(api.screensOperators.drift, {
    ...(outcome === "" ? {} : { outcome }),
    ...(text === "" ? {} : { text }),
  });
  const isFiltered = outcome !== "" || text !== "";
  return (
    <Panel id="found" title="Differences">
      <ListControls>
        <SearchField label="Search differences" placeholder="Customer or plan…" onSearch={setText} />
        <FilterField
          label="Outcome"
          className="sm:w-44"
          options={[["", "Any outcome"], ...optionsOf(OUTCOMES)]}
          value={outcome}
          onChange={setOutcome}
        />
      </ListControls>
      <ListBody
        list={list}
        rows={list.page?.evidence}
        what="differences"
        loading="the differences"
        isFiltered={isFiltered}
        noneFits={
          <Empty icon={SearchX} title="No difference fits">
            {list.hasMore && "Those looked through have none; the next page looks through older ones."}
          </Empty>
        }
        noneYet={
          <Empty icon={Workflow} title="No difference was ever found">
            Every plan that events have told is the provider&apos;s.
          </Empty>
        }
      >
        {(evidence) => <Table label="Differences" columns={COLUMNS} rows={evidence} keyOf={({ id }) => id} />}
      </ListBody>
    </Panel>
  );
}
