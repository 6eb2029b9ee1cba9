"use client";

import { SearchX, Workflow } from "lucide-react";
import Link from "next/link";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { ButtonLink, linkClass } from "../../components/button.tsx";
import { EVENT_STATUSES, EVENT_TYPES, EventState, typeName } from "../../components/event-words.tsx";
import { ListBody } from "../../components/list-body.tsx";
import { FilterField, ListControls, optionsOf, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { useList } from "../../components/use-list.ts";
import { cameTo, type EventView } from "./came-to.ts";

const COLUMNS: readonly Column<EventView>[] = [
  {
    name: "Event",
    cell: ({ id, type }) => (
      <Link href={`/app/events/${id}`} prefetch={false} className={linkClass}>
        {typeName(type)}
      </Link>
    ),
  },
  { name: "Status", cell: ({ status }) => <EventState status={status} /> },
  {
    name: "What it came to",
    isWide: true,
    cell: (event) => <span className="break-words">{cameTo(event)}</span>,
  },
  {
    name: "Happened",
    cell: ({ occurredAtMs }) =>
      occurredAtMs === null ? <span className="text-muted">not told</span> : <Instant ms={occurredAtMs} />,
  },
  { name: "Received", cell: ({ receivedAtMs }) => <Instant ms={receivedAtMs} /> },
  {
    name: "Deliveries",
    isNumber: true,
    cell: ({ seenCount }) => (
      <span title={seenCount > 1 ? `${seenCount - 1} of them copies, which change nothing` : undefined}>
        {seenCount}
      </span>
    ),
  },
  {
    name: "Details",
    isActions: true,
    cell: ({ id, type }) => (
      <ButtonLink size="sm" href={`/app/events/${id}`}>
        Details<span className="sr-only"> of {typeName(type)}</span>
      </ButtonLink>
    ),
  },
];

/** What the billing provider told about this customer, newest first, live. */
export function EventsScreen() {
  const [status, setStatus] = useState<EventView["status"] | "">("");
  const [type, setType] = useState("");
  const [text, setText] = useState("");
  const list = useList(api.screensEvents.recent, {
    ...(status === "" ? {} : { status }),
    ...(type === "" ? {} : { type }),
    ...(text === "" ? {} : { text }),
  });
  const isFiltered = status !== "" || type !== "" || text !== "";
  return (
    <>
      <ScreenHead title="Billing events">
        A billing event is a signed message of the billing provider: a plan, a payment, an agreement. Each
        counts once, however often and in whichever order it comes, and is listed for 90 days once it is done.
      </ScreenHead>
      <Panel id="events" title="Your billing events">
        <ListControls>
          <SearchField label="Search events" placeholder="Part of the id or the type…" onSearch={setText} />
          <FilterField
            label="Type"
            className="sm:w-48"
            options={[["", "Any type"], ...EVENT_TYPES]}
            value={type}
            onChange={setType}
          />
          <FilterField
            label="Status"
            className="sm:w-44"
            options={[["", "Any status"], ...optionsOf(EVENT_STATUSES)]}
            value={status}
            onChange={setStatus}
          />
        </ListControls>
        <ListBody
          list={list}
          rows={list.page?.events}
          what="events"
          loading="your billing events"
          loadingRows={5}
          isFiltered={isFiltered}
          noneFits={
            <Empty icon={SearchX} title={list.hasMore ? "None on this page" : "No event fits"}>
              {list.hasMore ? "Older ones may fit." : "Change the search, the type or the status."}
            </Empty>
          }
          noneYet={
            <Empty
              icon={Workflow}
              title="No billing event yet"
              action={<ButtonLink href="/app/plan">See the plans</ButtonLink>}
            >
              The provider sends one when you sign up, change the plan or pay.
            </Empty>
          }
        >
          {(events) => (
            <Table label="Billing events" columns={COLUMNS} rows={events} keyOf={({ id }) => id} />
          )}
        </ListBody>
      </Panel>
    </>
  );
}
