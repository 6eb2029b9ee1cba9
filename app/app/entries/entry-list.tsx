"use client";

import type { FunctionArgs } from "convex/server";
import { ReceiptText } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import type { EntryView } from "../../../convex/entryRows.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { ListBody } from "../../components/list-body.tsx";
import { Empty } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { type List, useList } from "../../components/use-list.ts";
import { formatUnits } from "../../components/format.ts";
import { CLICK_CLASSES } from "../links/click-classes.ts";
import { useUsage } from "../use-usage.ts";
import { WhyDialog, type WhyQuery } from "./why-dialog.tsx";

export type EntryFilter = Omit<FunctionArgs<typeof api.screensEntries.recent>, "cursor">;

const columnsOf = (onWhy: (entry: EntryView) => void): readonly Column<EntryView>[] => [
  { name: "When", cell: (entry) => <When entry={entry} /> },
  { name: "What", cell: ({ origin }) => <What origin={origin} /> },
  { name: "Class", cell: (entry) => <ClassBadge entry={entry} /> },
  {
    name: "Billed",
    isNumber: true,
    cell: ({ units, feature }) => `${formatUnits(units)} ${units === 1 ? feature.slice(0, -1) : feature}`,
  },
  {
    name: "Reason",
    isActions: true,
    cell: (entry) => (
      <Button size="sm" onClick={() => onWhy(entry)}>
        Why?
      </Button>
    ),
  },
];

/** Entries that fit a filter, the newest first, live. */
export function EntryList({ filter }: { filter: EntryFilter }) {
  const current = useUsage()?.cycle.name;
  // Named, so that the list goes on to the next cycle when this one ends.
  const list = useList(
    api.screensEntries.recent,
    current === undefined ? "skip" : { cycle: current, ...filter },
  );
  return <EntryTable list={list} whyQuery={api.entries.why} />;
}

/** The same list whoever looks at it. */
export function EntryTable(props: {
  list: List<{ readonly entries: readonly EntryView[]; readonly cursor: string | null }>;
  /** Answers for the entries that the reader may see. */
  whyQuery: WhyQuery;
}) {
  const { list, whyQuery } = props;
  const [asked, setAsked] = useState<EntryView | null>(null);
  const [isAsked, setIsAsked] = useState(false);
  const columns = columnsOf((entry) => {
    setAsked(entry);
    setIsAsked(true);
  });

  return (
    <>
      <ListBody
        list={list}
        rows={list.page?.entries}
        what="entries"
        loading="the entries"
        loadingRows={5}
        noneFits={
          <Empty icon={ReceiptText} title={list.hasMore ? "No entry on this page" : "No entry"}>
            {list.hasMore
              ? "The rows looked through do not fit; older ones may."
              : "Nothing that fits was counted in this cycle. A job is booked when it ends, a click within a second."}
          </Empty>
        }
      >
        {(entries) => <Table label="Entries" columns={columns} rows={entries} keyOf={({ id }) => id} />}
      </ListBody>
      <WhyDialog query={whyQuery} entry={asked} isOpen={isAsked} onClose={() => setIsAsked(false)} />
    </>
  );
}

/** A correction has the instant of what it corrects, and a time of its own at which it was booked. */
function When({ entry: { atMs, bookedAtMs, origin } }: { entry: EntryView }) {
  const isCorrection = origin.kind !== "click" && origin.kind !== "job";
  return (
    <>
      <Instant ms={atMs} />
      {isCorrection && (
        <span className="block text-xs whitespace-nowrap text-muted">
          booked <Instant ms={bookedAtMs} />
        </span>
      )}
    </>
  );
}

function What({ origin }: { origin: EntryView["origin"] }) {
  switch (origin.kind) {
    case "click":
      return (
        <span className="block max-w-64 truncate">
          Click on <span className="font-mono">/{origin.code}</span>
        </span>
      );
    case "job":
      return (
        <span className="block max-w-64 truncate" title={origin.jobKey}>
          Job <span className="font-mono text-xs">{origin.jobKey}</span>
        </span>
      );
    case "move":
      return "Moved to the meter of another agreement";
    case "take_back":
      return "Taken back";
    case "carry_over":
      return "Carried over to this cycle";
    case "write_off":
      return "Written off";
  }
}

function ClassBadge({ entry: { origin, units } }: { entry: EntryView }) {
  if (origin.kind === "click") {
    const { name, tone } = CLICK_CLASSES[origin.class];
    return <Badge tone={tone}>{name}</Badge>;
  }
  if (origin.kind !== "job") return <Badge tone="accent">Correction</Badge>;
  return units > 0 ? <Badge tone="good">Billed</Badge> : <Badge>Nothing used</Badge>;
}
