"use client";

import { Scale, SearchX } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { ListBody } from "../../components/list-body.tsx";
import { FilterField, ListControls, optionsOf, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { useList } from "../../components/use-list.ts";
import { MeterTable } from "./meter-table.tsx";
import { RunPanel } from "./run-panel.tsx";

const FILTERS = {
  all: "All meters",
  trouble: "Needs attention",
  unproven: "Not read since",
  repaired: "Repaired by the last run",
} as const;
type Filter = keyof typeof FILTERS;

/** Whether the provider's meters show what the ledger says, for every account. */
export function ReconciliationScreen() {
  const [filter, setFilter] = useState<Filter>("all");
  const [text, setText] = useState("");
  const list = useList(api.screensReconciliation.accounts, {
    ...(filter === "all" ? {} : { only: filter }),
    ...(text === "" ? {} : { text }),
  });
  const isFiltered = filter !== "all" || text !== "";
  return (
    <>
      <ScreenHead title="Reconciliation">
        Three numbers of each meter: what the provider shows, what the ledger adds up to, and what was sent
        last. The ledger is the fact; a run reads each meter, writes over one that differs, and reads it back.
      </ScreenHead>
      <RunPanel />
      <Panel id="meters" title="Meters">
        <ListControls>
          <SearchField label="Search accounts" placeholder="Name, email or id…" onSearch={setText} />
          <FilterField
            label="Which meters"
            className="sm:w-56"
            options={optionsOf(FILTERS)}
            value={filter}
            onChange={setFilter}
          />
        </ListControls>
        <ListBody
          list={list}
          rows={list.page?.accounts}
          what="meters"
          loading="the meters"
          loadingRows={6}
          isFiltered={isFiltered}
          noneFits={
            <Empty icon={SearchX} title="No meter fits">
              {list.hasMore
                ? "The accounts looked through have none; older ones may."
                : "No account has a meter like that."}
            </Empty>
          }
          noneYet={
            <Empty icon={Scale} title="No meter yet">
              A meter begins with the first click or job of an account.
            </Empty>
          }
        >
          {(accounts) => <MeterTable accounts={accounts} />}
        </ListBody>
      </Panel>
    </>
  );
}
