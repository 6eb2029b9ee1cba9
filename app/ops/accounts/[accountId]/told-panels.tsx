"use client";

import { useQuery } from "convex/react";
import { useState } from "react";
import { api } from "../../../../convex/_generated/api";
import { EntryTable } from "../../../app/entries/entry-list.tsx";
import { HoldList } from "../../../app/hold-list.tsx";
import { RefusedPanel } from "../../../app/jobs/refused-jobs.tsx";
import { FilterField, ListControls } from "../../../components/list-controls.tsx";
import { Panel } from "../../../components/panel.tsx";
import { useList } from "../../../components/use-list.ts";

/**
 * What the customer sees of why a job was refused and an entry billed, for an operator whom they ask: the same rows, in
 * the same words. An operator looks and does nothing in their place.
 */
export function ToldPanels({ accountId, cycle }: { accountId: string; cycle: string }) {
  const running = useQuery(api.screensAccounts.holds, { accountId }) ?? [];
  const refused = useList(api.screensRefusals.ofAccount, { accountId });
  return (
    <>
      {running.length > 0 && <HoldList running={running} />}
      <RefusedPanel
        list={refused}
        about="Jobs that did not start, of the last 30 days, in the words that the customer was told: with the numbers of that moment and what could be done then."
      />
      <EntriesPanel accountId={accountId} cycle={cycle} />
    </>
  );
}

const FEATURES = [
  ["", "Jobs and clicks"],
  ["tokens", "Jobs (tokens)"],
  ["clicks", "Clicks"],
] as const;

function EntriesPanel({ accountId, cycle }: { accountId: string; cycle: string }) {
  const [feature, setFeature] = useState<(typeof FEATURES)[number][0]>("");
  const list = useList(api.screensEntries.ofAccount, {
    accountId,
    cycle,
    all: true,
    ...(feature === "" ? {} : { feature }),
  });
  return (
    <Panel
      id="entries"
      title={`Entries of the cycle ${cycle}`}
      about="One row for each settled job and each click, what was not billed as well. Why? says what the customer is told."
    >
      <ListControls>
        <FilterField
          label="Feature"
          className="sm:w-40"
          options={FEATURES}
          value={feature}
          onChange={setFeature}
        />
      </ListControls>
      <EntryTable list={list} whyQuery={api.entries.whyForOperator} />
    </Panel>
  );
}
