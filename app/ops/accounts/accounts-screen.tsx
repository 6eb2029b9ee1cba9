"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { SearchX, Users } from "lucide-react";
import Link from "next/link";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { planName } from "../../app/plan/plans.ts";
import { Badge } from "../../components/badge.tsx";
import { ButtonLink, linkClass } from "../../components/button.tsx";
import { SelectField } from "../../components/field.tsx";
import { formatUnits } from "../../components/format.ts";
import { ListControls, Pager, SearchField } from "../../components/list-controls.tsx";
import { MeterBar } from "../../components/meter-bar.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { useKept } from "../../components/use-kept.ts";
import { usePages } from "../../components/use-pages.ts";

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
  const pages = usePages(`${filter} ${text}`);
  const page = useKept(
    useQuery(api.screensAccounts.list, {
      cursor: pages.cursor,
      ...(filter === "all" ? {} : { only: filter }),
      ...(text === "" ? {} : { text }),
    }),
  );
  const isFiltered = filter !== "all" || text !== "" || pages.number > 1;
  return (
    <>
      <ScreenHead title="Accounts">Who uses this, on which plan, and how much of it is used.</ScreenHead>
      <Panel id="accounts" title="Accounts">
        <ListControls>
          <SearchField label="Search accounts" placeholder="Name, email or any id…" onSearch={setText} />
          <SelectField
            hideLabel
            label="Which accounts"
            className="sm:w-64"
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
          <Loading what="the accounts" rows={6} />
        ) : page.accounts.length > 0 ? (
          <Table label="Accounts" columns={COLUMNS} rows={page.accounts} keyOf={({ id }) => id} />
        ) : isFiltered || page.cursor !== null ? (
          <Empty icon={SearchX} title="No account fits">
            {page.cursor !== null &&
              "Those looked through have none; the next page looks through older ones."}
          </Empty>
        ) : (
          <Empty icon={Users} title="No account yet">
            The first sign-in makes one.
          </Empty>
        )}
        {page !== undefined && <Pager pages={pages} nextCursor={page.cursor} what="accounts" />}
      </Panel>
    </>
  );
}

function Usage({ account: { usedUnits, heldUnits, limit } }: { account: AccountRow }) {
  const whole = limit?.limitUnits ?? null;
  const of =
    limit === null ? "limit not read yet" : whole === null ? "unlimited" : `of ${formatUnits(whole)}`;
  const held = heldUnits > 0 ? `, ${formatUnits(heldUnits)} held` : "";
  return (
    <span className="flex max-w-52 flex-col gap-1">
      <span className="tabular-nums">
        {formatUnits(usedUnits)} <span className="text-muted">{`${of}${held}`}</span>
      </span>
      <MeterBar
        isSmall
        label={`${formatUnits(usedUnits)} used${held}, ${of}`}
        whole={whole}
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
