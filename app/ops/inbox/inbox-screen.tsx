"use client";

import type { FunctionReturnType } from "convex/server";
import { Inbox, SearchX } from "lucide-react";
import { useSearchParams } from "next/navigation";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Button } from "../../components/button.tsx";
import {
  EVENT_STATUSES,
  EventState,
  type EventStatus,
  isEventStatus,
  typeName,
} from "../../components/event-words.tsx";
import { ListBody } from "../../components/list-body.tsx";
import { FilterField, ListControls, optionsOf, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Ago, Instant } from "../../components/time.tsx";
import { useList } from "../../components/use-list.ts";
import { OwnerLink } from "../owner-link.tsx";
import { EventDialog } from "./event-dialog.tsx";

type EventView = FunctionReturnType<typeof api.screensOperators.events>["events"][number];

const columnsOf = (onOpen: (event: EventView) => void): readonly Column<EventView>[] => [
  {
    name: "Event",
    cell: ({ type, result, error }) => (
      <span className="block md:max-w-52">
        <span className="font-medium">{typeName(type)}</span>
        {(error ?? result) !== null && (
          <span className="block text-xs text-muted md:truncate" title={error ?? result ?? ""}>
            {error ?? result}
          </span>
        )}
      </span>
    ),
  },
  { name: "Customer", cell: ({ account }) => <OwnerLink account={account} /> },
  {
    name: "Status",
    cell: ({ status }) => <EventState status={status} />,
  },
  {
    name: "Happened",
    cell: ({ occurredAtMs }) =>
      occurredAtMs === null ? <span className="text-muted">not told</span> : <Instant ms={occurredAtMs} />,
  },
  { name: "Received", cell: ({ receivedAtMs }) => <Ago ms={receivedAtMs} /> },
  {
    name: "Deliveries",
    isNumber: true,
    cell: ({ seenCount }) => seenCount,
  },
  {
    name: "Actions",
    isActions: true,
    cell: (event) => (
      <Button size="sm" onClick={() => onOpen(event)}>
        Open<span className="sr-only"> {typeName(event.type)}</span>
      </Button>
    ),
  },
];

/** Every billing event that arrived, the newest first, and what became of it. */
export function InboxScreen() {
  const asked = useSearchParams().get("status");
  const [status, setStatus] = useState<EventStatus | "">(isEventStatus(asked) ? asked : "");
  const [text, setText] = useState("");
  const list = useList(api.screensOperators.events, {
    ...(status === "" ? {} : { status }),
    ...(text === "" ? {} : { text }),
  });
  const [openId, setOpenId] = useState<string | null>(null);
  const [isOpen, setIsOpen] = useState(false);
  const columns = columnsOf(({ id }) => {
    setOpenId(id);
    setIsOpen(true);
  });
  const isFiltered = status !== "" || text !== "";
  return (
    <>
      <ScreenHead title="Inbox">
        Billing events as they were signed. Each is stored before it is answered, applied once however often
        it is delivered, and listed for 90 days once it is done. What it told is kept.
      </ScreenHead>
      <Panel
        id="events"
        title={status === "" ? "Events" : `Events: ${EVENT_STATUSES[status].name}`}
        {...(status === "" ? {} : { about: EVENT_STATUSES[status].about })}
        aside={
          <Button
            size="sm"
            aria-pressed={status === "dead"}
            onClick={() => setStatus(status === "dead" ? "" : "dead")}
          >
            {status === "dead" ? "All events" : "Dead letters only"}
          </Button>
        }
      >
        <ListControls>
          <SearchField
            label="Search events"
            placeholder="Type, event id, customer or error…"
            onSearch={setText}
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
          loading="the events"
          loadingRows={6}
          isFiltered={isFiltered}
          noneFits={
            <Empty
              icon={SearchX}
              title={status === "dead" && text === "" ? "No dead letter" : "No event fits"}
            >
              {list.hasMore ? "Those looked through do not; older ones may." : "None of the stored events."}
            </Empty>
          }
          noneYet={
            <Empty icon={Inbox} title="No event yet">
              The first arrives when somebody signs up or changes the plan.
            </Empty>
          }
        >
          {(events) => <Table label="Events" columns={columns} rows={events} keyOf={({ id }) => id} />}
        </ListBody>
      </Panel>
      {openId !== null && <EventDialog id={openId} isOpen={isOpen} onClose={() => setIsOpen(false)} />}
    </>
  );
}
