"use client";

import { useQuery } from "convex/react";
import { api } from "../../convex/_generated/api";
import { formatInstant } from "../components/format.ts";
import { Panel } from "../components/panel.tsx";
import { Loading } from "../components/states.tsx";
import { useNow } from "../components/use-now.ts";

const ACCOUNTS_SHOWN = 50;

/** The newest accounts, live. */
export function AccountsPanel() {
  const args = { cursor: null, limit: ACCOUNTS_SHOWN };
  const listed = useQuery(api.accounts.list, args);
  const hasMounted = useNow() !== null;
  return (
    <Panel
      id="accounts"
      title="Accounts"
      aside={<p className="text-sm text-muted">The newest {ACCOUNTS_SHOWN}</p>}
    >
      {listed === undefined ? (
        <Loading what="the accounts" />
      ) : listed.accounts.length === 0 ? (
        <p className="text-sm text-muted">No account yet.</p>
      ) : (
        <ul className="flex flex-col divide-y divide-line">
          {listed.accounts.map((account) => (
            <li key={account.id} className="flex flex-wrap gap-x-4 gap-y-1 py-2 text-sm">
              <p className="min-w-0 flex-1 truncate font-medium">{account.name}</p>
              <p className="text-muted">{account.email}</p>
              <p className="text-muted">
                limit from {account.provider}
                {hasMounted && `, since ${formatInstant(account.createdAtMs)}`}
              </p>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
