"use client";

import { useQuery } from "convex/react";
import { SearchX, Workflow } from "lucide-react";
import Link from "next/link";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { ButtonLink, linkClass } from "../../components/button.tsx";
import { SelectField } from "../../components/field.tsx";
import { ListControls, Pager, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { useKept } from "../../components/use-kept.ts";
import { usePages } from "../../components/use-pages.ts";
import {
  cameTo,
  EVENT_STATUSES,
  EVENT_TYPES,
  EventStatus,
  type EventView,
  typeName,
} from "./event-words.tsx";

const COLUMNS: readonly Column<EventView>[] = [
  {
    name: "Event",
    cell: ({ id, type }) => (
      <Link href={`/app/events/${id}`} prefetch={false} className={linkClass}>
        {typeName(type)}
      </Link>
    ),
  },
  { name: "Status", cell: ({ status }) => <EventStatus status={status} /> },
  { name: "What it came to", cell: (event) => <span className="break-words">{cameTo(event)}</span> },
  {
    name: "Happened",
    cell: ({ occurredAtMs }) =>
      occurredAtMs === null ? <span className="text-muted">not told</span> : <Instant ms={occurredAtMs} />,
  },
  { name: "Received", cell: ({ receivedAtMs }) => <Instant ms={receivedAtMs} /> },
  {
    name: "Seen",
    isNumber: true,
    cell: ({ seenCount }) => (
      <span title={seenCount > 1 ? `${seenCount - 1} of them copies, which change nothing` : undefined}>
        {seenCount === 1 ? "once" : `${seenCount} times`}
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
  const pages = usePages(`${status} ${type} ${text}`);
  const page = useKept(
    useQuery(api.screensEvents.recent, {
      ...(status === "" ? {} : { status }),
      ...(type === "" ? {} : { type }),
      ...(text === "" ? {} : { text }),
      cursor: pages.cursor,
    }),
  );
  const isFiltered = status !== "" || type !== "" || text !== "";
  return (
    <>
      <ScreenHead title="Billing events">
        A billing event is a signed message of the billing provider: a plan, a payment, an agreement. Each
        counts once, however often and in whichever order it comes.
      </ScreenHead>
      <Panel id="events" title="Your billing events">
        <ListControls>
          <SearchField label="Search events" placeholder="Part of the id or the type…" onSearch={setText} />
          <SelectField
            label="Type"
            hideLabel
            className="sm:w-48"
            value={type}
            onChange={(event) => setType(event.target.value)}
          >
            <option value="">Any type</option>
            {EVENT_TYPES.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </SelectField>
          <SelectField
            label="Status"
            hideLabel
            className="sm:w-44"
            value={status}
            onChange={(event) => setStatus(event.target.value as typeof status)}
          >
            <option value="">Any status</option>
            {EVENT_STATUSES.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </SelectField>
        </ListControls>
        {page === undefined ? (
          <Loading what="your billing events" rows={5} />
        ) : page.events.length > 0 ? (
          <Table label="Billing events" columns={COLUMNS} rows={page.events} keyOf={({ id }) => id} />
        ) : isFiltered ? (
          <Empty icon={SearchX} title={page.cursor === null ? "No event fits" : "None on this page"}>
            {page.cursor === null ? "Change the search, the type or the status." : "Older ones may fit."}
          </Empty>
        ) : (
          <Empty
            icon={Workflow}
            title="No billing event yet"
            action={<ButtonLink href="/app/plan">See the plans</ButtonLink>}
          >
            The provider sends one when you sign up, change the plan or pay.
          </Empty>
        )}
        {page !== undefined && <Pager pages={pages} nextCursor={page.cursor} what="events" />}
      </Panel>
    </>
  );
}
