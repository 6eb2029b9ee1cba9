"use client";

import type { FunctionReturnType } from "convex/server";
import { BellRing } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Badge, type Tone } from "../../components/badge.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { FilterField, ListControls, optionsOf, Pager } from "../../components/list-controls.tsx";
import { Notice } from "../../components/notice.tsx";
import { Panel } from "../../components/panel.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Ago } from "../../components/time.tsx";
import { useList } from "../../components/use-list.ts";
import { kindOf } from "../reviews/words.ts";

type AlertView = FunctionReturnType<typeof api.alerts.list>["alerts"][number];
type Status = AlertView["status"];

const PAGE = 10;
const STATUSES: Record<Status, { name: string; tone: Tone }> = {
  waiting: { name: "On its way", tone: "accent" },
  sent: { name: "Sent", tone: "good" },
  given_up: { name: "Given up", tone: "bad" },
};

const VARIABLES = 'HOLDFAST_ALERT_URL=https://…\nHOLDFAST_ALERT_SECRET="whsec_$(openssl rand -base64 32)"';

const COLUMNS: readonly Column<AlertView>[] = [
  {
    name: "About",
    cell: ({ kind, detail }) => (
      <span className="block max-w-md">
        <span className="font-medium">{kindOf(kind).name}</span>
        <span className="block text-xs break-words text-muted">{detail}</span>
      </span>
    ),
  },
  {
    name: "Status",
    cell: ({ status, error }) => (
      <span className="flex max-w-64 flex-col items-start gap-0.5">
        <Badge tone={STATUSES[status].tone}>{STATUSES[status].name}</Badge>
        {error !== null && <span className="text-xs break-words text-muted">{error}</span>}
      </span>
    ),
  },
  { name: "Attempts", isNumber: true, cell: ({ attempts }) => attempts },
  { name: "Raised", cell: ({ createdAtMs }) => <Ago ms={createdAtMs} /> },
];

/** Who is told of new reviews, and which messages went out. */
export function AlertsPanel() {
  const [status, setStatus] = useState<Status | "">("");
  const list = useList(api.alerts.list, { limit: PAGE, ...(status === "" ? {} : { status }) });
  const { page } = list;
  return (
    <Panel
      id="alerts"
      title="Alerts"
      about="One signed message for each new review, to an address of yours, tried again for a while."
    >
      {page === undefined ? (
        <Loading what="the alerts" />
      ) : (
        <>
          {page.isConfigured ? (
            <Notice tone="good" title="An address is set">
              It is kept in HOLDFAST_ALERT_URL and shown to nobody.
            </Notice>
          ) : (
            <HowToSet />
          )}
          {(page.alerts.length > 0 || status !== "" || page.isConfigured) && (
            <ListControls>
              <FilterField
                label="Status of alerts"
                className="sm:w-44"
                options={[["", "Any status"], ...optionsOf(STATUSES)]}
                value={status}
                onChange={setStatus}
              />
            </ListControls>
          )}
          {page.alerts.length > 0 ? (
            <Table label="Alerts" columns={COLUMNS} rows={page.alerts} keyOf={({ id }) => id} />
          ) : (
            page.isConfigured && <Empty icon={BellRing} title="No alert" />
          )}
          <Pager list={list} what="alerts" />
        </>
      )}
    </Panel>
  );
}

function HowToSet() {
  return (
    <Notice
      tone="warn"
      title="Nobody is told: no address is set"
      next="Until then new reviews wait here without a message. The overview counts them."
    >
      <p>
        Set both variables before <code className="font-mono">npm start</code>, or as variables of the Convex
        deployment. Messages are signed as Standard Webhooks are.
      </p>
      <div className="mt-2 flex min-w-0 flex-wrap items-start gap-2">
        <pre className="min-w-0 flex-1 basis-64 rounded-md bg-card p-3 font-mono text-xs break-all whitespace-pre-wrap">
          {VARIABLES}
        </pre>
        <CopyButton text={VARIABLES} label="Copy" />
      </div>
    </Notice>
  );
}
