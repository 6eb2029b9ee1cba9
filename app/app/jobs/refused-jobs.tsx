"use client";

import type { FunctionReturnType } from "convex/server";
import { SearchX } from "lucide-react";
import { api } from "../../../convex/_generated/api";
import type { RefusedView } from "../../../convex/screensRefusals.ts";
import { refusalText } from "../../../lib/gate/refusal-text.ts";
import { formatInstant, formatUnits } from "../../components/format.ts";
import { ListBody } from "../../components/list-body.tsx";
import { Panel } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { type List, useList } from "../../components/use-list.ts";

/** What the list asks for first. */
export const FIRST_REFUSED = { cursor: null };

const COLUMNS: readonly Column<RefusedView>[] = [
  {
    name: "Job",
    cell: ({ kind, key }) => (
      <span className="block max-w-60 truncate" title={key}>
        <span className="font-medium">{kind}</span>{" "}
        <span className="font-mono text-xs text-muted">{key}</span>
      </span>
    ),
  },
  { name: "When", cell: ({ atMs }) => <Instant ms={atMs} /> },
  { name: "Asked for", isNumber: true, cell: ({ requestedUnits }) => formatUnits(requestedUnits) },
  { name: "Why", isWide: true, cell: ({ refusal, times }) => <Why refusal={refusal} times={times} /> },
];

/** Jobs that did not start, newest first, live. Not there for who was never refused one. */
export function RefusedJobs() {
  const list = useList(api.screensRefusals.recent, {});
  return (
    <RefusedPanel
      list={list}
      about="Jobs that did not start, of the last 30 days, with the numbers of that moment and what could be done then. Nothing was held or charged for them."
    />
  );
}

type RefusedPage = FunctionReturnType<typeof api.screensRefusals.recent>;

/** The same list whoever looks at it; not there without a refusal. */
export function RefusedPanel({ list, about }: { list: List<RefusedPage>; about: string }) {
  const { page, pages, isArriving } = list;
  if (page === undefined) return null;
  if (page.refused.length === 0 && pages.number === 1 && !isArriving) return null;
  return (
    <Panel id="refused" title="Refused" about={about}>
      <ListBody
        list={list}
        rows={page.refused}
        what="refusals"
        loading="the refused jobs"
        loadingRows={5}
        noneFits={
          <Empty icon={SearchX} title="No refusal on this page">
            They may have been removed since: each is kept for 30 days.
          </Empty>
        }
      >
        {(refused) => <Table label="Refusals" columns={COLUMNS} rows={refused} keyOf={({ id }) => id} />}
      </ListBody>
    </Panel>
  );
}

/** The words of the answer: what happened, the numbers, and what to do about it. */
function Why({ refusal, times }: Pick<RefusedView, "refusal" | "times">) {
  const { title, detail, next } = refusalText(refusal, formatInstant);
  return (
    <>
      <span className="block font-medium">{title}</span>
      <span className="block text-xs text-pretty text-muted">{detail}</span>
      <span className="block text-xs text-pretty">{next}</span>
      {times > 1 && (
        <span className="block text-xs text-pretty text-muted">
          {formatUnits(times)} jobs were refused in this minute beside those listed. This is the last of them.
        </span>
      )}
    </>
  );
}
