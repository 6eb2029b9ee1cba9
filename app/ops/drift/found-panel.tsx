"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { SearchX, Workflow } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Badge } from "../../components/badge.tsx";
import { SelectField } from "../../components/field.tsx";
import { ListControls, Pager, SearchField } from "../../components/list-controls.tsx";
import { Panel } from "../../components/panel.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { useKept } from "../../components/use-kept.ts";
import { usePages } from "../../components/use-pages.ts";
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
  const pages = usePages(`${outcome} ${text}`);
  const page = useKept(
    useQuery(api.screensOperators.drift, {
      cursor: pages.cursor,
      ...(outcome === "" ? {} : { outcome }),
      ...(text === "" ? {} : { text }),
    }),
  );
  const isFiltered = outcome !== "" || text !== "" || pages.number > 1;
  return (
    <Panel id="found" title="Differences">
      <ListControls>
        <SearchField label="Search differences" placeholder="Customer or plan…" onSearch={setText} />
        <SelectField
          hideLabel
          label="Outcome"
          className="sm:w-44"
          value={outcome}
          onChange={(event) => setOutcome(event.target.value as Outcome | "")}
        >
          <option value="">Every outcome</option>
          {Object.entries(OUTCOMES).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </SelectField>
      </ListControls>
      {page === undefined ? (
        <Loading what="the differences" />
      ) : page.evidence.length > 0 ? (
        <Table label="Differences" columns={COLUMNS} rows={page.evidence} keyOf={({ id }) => id} />
      ) : isFiltered || page.cursor !== null ? (
        <Empty icon={SearchX} title="No difference fits">
          {page.cursor !== null && "Those looked through have none; the next page looks through older ones."}
        </Empty>
      ) : (
        <Empty icon={Workflow} title="No difference was ever found">
          Every plan that events have told is the provider&apos;s.
        </Empty>
      )}
      {page !== undefined && <Pager pages={pages} nextCursor={page.cursor} what="differences" />}
    </Panel>
  );
}
