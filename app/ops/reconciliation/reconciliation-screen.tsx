"use client";

import { useQuery } from "convex/react";
import { Scale, SearchX } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { SelectField } from "../../components/field.tsx";
import { ListControls, Pager, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { useKept } from "../../components/use-kept.ts";
import { usePages } from "../../components/use-pages.ts";
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
  const pages = usePages(`${filter} ${text}`);
  const page = useKept(
    useQuery(api.screensReconciliation.accounts, {
      cursor: pages.cursor,
      ...(filter === "all" ? {} : { only: filter }),
      ...(text === "" ? {} : { text }),
    }),
  );
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
          <SelectField
            hideLabel
            label="Which meters"
            className="sm:w-56"
            value={filter}
            onChange={(event) => setFilter(event.target.value as Filter)}
          >
            {Object.entries(FILTERS).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </SelectField>
        </ListControls>
        {page === undefined ? (
          <Loading what="the meters" rows={6} />
        ) : page.accounts.length > 0 ? (
          <MeterTable accounts={page.accounts} />
        ) : isFiltered || pages.number > 1 || page.cursor !== null ? (
          <Empty icon={SearchX} title="No meter fits">
            {page.cursor === null
              ? "No account has a meter like that."
              : "The accounts looked through have none; older ones may."}
          </Empty>
        ) : (
          <Empty icon={Scale} title="No meter yet">
            A meter begins with the first click or job of an account.
          </Empty>
        )}
        {page !== undefined && <Pager pages={pages} nextCursor={page.cursor} what="meters" />}
      </Panel>
    </>
  );
}
