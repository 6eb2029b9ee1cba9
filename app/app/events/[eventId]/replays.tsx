"use client";

import { useQuery } from "convex/react";
import { api } from "../../../../convex/_generated/api";
import type { ReplayView } from "../../../../convex/screensEvents.ts";
import { type Column, Table } from "../../../components/table.tsx";
import { Instant } from "../../../components/time.tsx";

type Row = ReplayView & { readonly place: number; readonly isUnderWay: boolean };

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Replay",
    cell: ({ atMs }) => (
      <>
        Replayed <Instant ms={atMs} />
      </>
    ),
  },
  { name: "By", cell: ({ by }) => (by === "customer" ? "you, or a key of yours" : "an operator") },
  { name: "It was", cell: ({ before }) => before },
  {
    name: "It came to",
    cell: ({ before, after, isUnderWay }) => {
      if (isUnderWay) return <span className="text-muted">under way</span>;
      return before === after ? `${after}, as before` : after;
    },
  },
];

/** The replays there were, the newest first. Not there for an event that nobody replayed. */
export function Replays({ eventId, isSettled }: { eventId: string; isSettled: boolean }) {
  const replays = useQuery(api.screensEvents.replays, { id: eventId });
  if (replays === undefined || replays.length === 0) return null;
  const rows = replays.map((replay, index) => ({
    ...replay,
    place: replays.length - index,
    isUnderWay: index === 0 && !isSettled,
  }));
  return <Table label="Replays" columns={COLUMNS} rows={rows} keyOf={({ place }) => String(place)} />;
}
