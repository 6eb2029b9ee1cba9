"use client";

import type { FunctionReturnType } from "convex/server";
import { SearchX, Users } from "lucide-react";
import Link from "next/link";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { planName } from "../../app/plan/plans.ts";
import { Badge } from "../../components/badge.tsx";
import { ButtonLink, linkClass } from "../../components/button.tsx";
import { formatUnits } from "../../components/format.ts";
import { ofLimit, wholeOf } from "../../components/limit-text.ts";
import { ListBody } from "../../components/list-body.tsx";
import { FilterField, ListControls, optionsOf, SearchField } from "../../components/list-controls.tsx";
import { MeterBar } from "../../components/meter-bar.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { useList } from "../../components/use-list.ts";

export type AccountRow = FunctionReturnType<typeof api.screensAccounts.list>["accounts"][number];

const FILTERS = {
  all: "All accounts",
  overdue: "Invoice overdue",
  deleted: "Deleted customers",
  lab: "Throw-away accounts of the labs",
} as const;
type Filter = keyof typeof FILTERS;

const COLUMNS: readonly Column<AccountRow>[] = [
  {
    name: "Account",
    cell: ({ id, name, email }) => (
      <span className="block max-w-56">
        <Link
          href={`/ops/accounts/${id}`}
          prefetch={false}
          className={`${linkClass} block truncate`}
          title={name}
        >
          {name}
        </Link>
        {email !== null && email !== name && (
          <span className="block truncate text-xs text-muted">{email}</span>
        )}
      </span>
    ),
  },
  {
    name: "Plan",
    cell: ({ provider, planKey }) => (provider === "kinde" ? planName(planKey) : "set by hand"),
  },
  { name: "Tokens in this cycle", cell: (account) => <Usage account={account} /> },
  { name: "State", cell: (account) => <AccountState account={account} /> },
  { name: "Made", cell: ({ createdAtMs }) => <Instant ms={createdAtMs} /> },
  {
    name: "Details",
    isActions: true,
    cell: ({ id, name }) => (
      <ButtonLink size="sm" href={`/ops/accounts/${id}`}>
        Details<span className="sr-only"> of {name}</span>
      </ButtonLink>
    ),
  },
];

/** Everybody who has an account, the newest first. */
export function AccountsScreen() {
  const [filter, setFilter] = useState<Filter>("all");
  const [text, setText] = useState("");
  const list = useList(api.screensAccounts.list, {
    ...(filter === "all" ? {} : { only: filter }),
    ...(text === "" ? {} : { text }),
  });
  const isFiltered = filter !== "all" || text !== "";
  return (
    <>
      <ScreenHead title="Accounts">Who uses this, on which plan, and how much of it is used.</ScreenHead>
      <Panel id="accounts" title="Accounts">
        <ListControls>
          <SearchField label="Search accounts" placeholder="Name, email or any id…" onSearch={setText} />
          <FilterField
            label="Which accounts"
            className="sm:w-64"
            options={optionsOf(FILTERS)}
            value={filter}
            onChange={setFilter}
          />
        </ListControls>
        <ListBody
          list={list}
          rows={list.page?.accounts}
          what="accounts"
          loading="the accounts"
          loadingRows={6}
          isFiltered={isFiltered}
          noneFits={
            <Empty icon={SearchX} title="No account fits">
              {list.hasMore && "Those looked through have none; the next page looks through older ones."}
            </Empty>
          }
          noneYet={
            <Empty icon={Users} title="No account yet">
              The first sign-in makes one.
            </Empty>
          }
        >
          {(accounts) => <Table label="Accounts" columns={COLUMNS} rows={accounts} keyOf={({ id }) => id} />}
        </ListBody>
      </Panel>
    </>
  );
}

function Usage({ account: { usedUnits, heldUnits, limit } }: { account: AccountRow }) {
  const of = ofLimit(limit);
  const held = heldUnits > 0 ? `, ${formatUnits(heldUnits)} held` : "";
  return (
    <span className="flex max-w-52 flex-col gap-1">
      <span className="tabular-nums">
        {formatUnits(usedUnits)} <span className="text-muted">{`${of}${held}`}</span>
      </span>
      <MeterBar
        isSmall
        label={`${formatUnits(usedUnits)} used ${of}${held}`}
        whole={wholeOf(limit)}
        parts={[
          { name: "used", units: usedUnits, look: "used" },
          { name: "held", units: heldUnits, look: "held" },
        ]}
      />
    </span>
  );
}

export function AccountState({
  account: { overdueSinceMs, deletedAtMs, source },
}: {
  account: Pick<AccountRow, "overdueSinceMs" | "deletedAtMs" | "source">;
}) {
  if (deletedAtMs !== null) return <Badge>deleted</Badge>;
  if (overdueSinceMs !== null) return <Badge tone="bad">overdue</Badge>;
  if (source === "lab") return <Badge>throw-away</Badge>;
  // Named by a billing event; nobody has signed in to it.
  if (source === "event") return <Badge tone="accent">not signed in yet</Badge>;
  return <Badge tone="good">active</Badge>;
}
