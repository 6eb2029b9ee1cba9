"use client";

import { useAction, useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { FileClock, Play, SearchX } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Button } from "../../components/button.tsx";
import { formatUnits } from "../../components/format.ts";
import { ListBody } from "../../components/list-body.tsx";
import { FilterField, ListControls, optionsOf, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Ago, Instant } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { useList } from "../../components/use-list.ts";
import { OwnerLink } from "../owner-link.tsx";
import { RunList } from "../run-list.tsx";
import { ACTIONS, actionName, detailsText } from "./words.ts";

type Line = FunctionReturnType<typeof api.screensOperators.audit>["lines"][number];

const RUNS_SHOWN = 3;

const COLUMNS: readonly Column<Line>[] = [
  {
    name: "What",
    cell: ({ action, details }) => (
      <span className="block max-w-96">
        <span className="font-medium">{actionName(action)}</span>
        <span className="block text-xs break-words text-muted">{detailsText(details)}</span>
      </span>
    ),
  },
  { name: "Account", cell: ({ account }) => <OwnerLink account={account} none="all of them" /> },
  {
    name: "By",
    cell: ({ actor }) => (
      <span className="block max-w-40 truncate" title={actor}>
        {actor}
      </span>
    ),
  },
  { name: "When", cell: ({ atMs }) => <Instant ms={atMs} /> },
];

/** What operators did and what workers repaired: append only. */
export function AuditScreen() {
  const [action, setAction] = useState("");
  const [text, setText] = useState("");
  const list = useList(api.screensOperators.audit, {
    ...(action === "" ? {} : { action }),
    ...(text === "" ? {} : { text }),
  });
  const isFiltered = action !== "" || text !== "";
  return (
    <>
      <ScreenHead title="Audit">
        Who did what, and what was repaired by itself. Lines are only ever added, in the transaction of the
        act.
      </ScreenHead>
      <BudgetsPanel />
      <Panel id="log" title="Log">
        <ListControls>
          <SearchField label="Search the log" placeholder="Who, account or detail…" onSearch={setText} />
          <FilterField
            label="What"
            className="sm:w-56"
            options={[["", "Everything"], ...optionsOf(ACTIONS)]}
            value={action}
            onChange={setAction}
          />
        </ListControls>
        <ListBody
          list={list}
          rows={list.page?.lines}
          what="the log"
          loading="the log"
          loadingRows={6}
          isFiltered={isFiltered}
          noneFits={
            <Empty icon={SearchX} title="No line fits">
              {list.hasMore && "Those looked through have none; the next page looks through older ones."}
            </Empty>
          }
          noneYet={<Empty icon={FileClock} title="Nothing was done yet" />}
        >
          {(lines) => <Table label="Log" columns={COLUMNS} rows={lines} keyOf={({ id }) => id} />}
        </ListBody>
      </Panel>
    </>
  );
}

/** The audit of balances: used and held units recomputed from the rows they are copies of. */
function BudgetsPanel() {
  const runs = useQuery(api.screensReconciliation.runs, { name: "audit" });
  const audit = useAction(api.ops.audit);
  const [isBusy, setIsBusy] = useState(false);

  async function onAudit() {
    setIsBusy(true);
    try {
      const { budgets, repaired } = await audit({});
      const checked = `${formatUnits(budgets)} ${budgets === 1 ? "balance" : "balances"} checked`;
      if (repaired === 0) toast.done("Every balance is right", `${checked}.`);
      else
        toast.failed(`${formatUnits(repaired)} repaired`, `${checked}; the log has a line for each repair.`);
    } catch {
      toast.failed("The audit did not end", "The log of Convex says why.");
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <Panel
      id="budgets"
      title="Balances"
      about={
        <>
          Used and held units are recomputed from ledger rows and running jobs, every hour and at each start.
          One that differs is set right.{" "}
          {runs !== undefined && runs.lastGoodAtMs !== null && (
            <>
              The last good run ended <Ago ms={runs.lastGoodAtMs} />.
            </>
          )}
        </>
      }
      aside={
        <Button look="primary" isBusy={isBusy} onClick={() => void onAudit()}>
          {!isBusy && <Play aria-hidden className="size-4" />}
          Audit now
        </Button>
      }
    >
      {runs !== undefined && runs.ended.length > 0 && (
        <RunList
          runs={runs.ended.slice(0, RUNS_SHOWN)}
          describe={({ budgets = 0, repaired = 0 }) => ({
            found: repaired === 0 ? "all right" : `${formatUnits(repaired)} repaired`,
            went: `${formatUnits(budgets)} ${budgets === 1 ? "balance" : "balances"}`,
          })}
        />
      )}
    </Panel>
  );
}
