"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { CircleOff } from "lucide-react";
import { api } from "../../../../convex/_generated/api";
import { BackLink } from "../../../components/back-link.tsx";
import { Badge } from "../../../components/badge.tsx";
import { ButtonLink } from "../../../components/button.tsx";
import { CopyButton } from "../../../components/copy-button.tsx";
import {
  deliveriesTitle,
  EVENT_STATUSES,
  EventState,
  RECEIPT_FLAGS,
  typeName,
} from "../../../components/event-words.tsx";
import { Fact } from "../../../components/fact.tsx";
import { countOf } from "../../../components/format.ts";
import { Panel, ScreenHead } from "../../../components/panel.tsx";
import { Empty, Loading } from "../../../components/states.tsx";
import { type Column, Table } from "../../../components/table.tsx";
import { Instant } from "../../../components/time.tsx";
import { cameTo, type EventView } from "../came-to.ts";
import { Replay } from "./replay.tsx";

type Detail = NonNullable<FunctionReturnType<typeof api.screensEvents.get>>;
type Receipt = Detail["receipts"][number];

const RECEIPT_COLUMNS: readonly Column<Receipt & { readonly place: number }>[] = [
  { name: "Received", cell: ({ atMs }) => <Instant ms={atMs} /> },
  {
    name: "What",
    cell: ({ isCopy, flags }) => (
      <span className="flex flex-wrap gap-1.5">
        <Badge tone={isCopy ? "neutral" : "good"}>{isCopy ? "copy, changed nothing" : "first"}</Badge>
        {flags.map((flag) => (
          <Badge key={flag} tone="warn">
            {RECEIPT_FLAGS[flag]}
          </Badge>
        ))}
      </span>
    ),
  },
  {
    name: "Delivery id",
    cell: ({ webhookId }) =>
      webhookId === null ? (
        <span className="text-muted">none sent</span>
      ) : (
        <span className="font-mono text-xs break-all">{webhookId}</span>
      ),
  },
  { name: "Signed with", cell: ({ kid }) => <span className="font-mono text-xs break-all">{kid}</span> },
];

/** One billing event: what it came to, its deliveries, the text as it was signed, and its replay. */
export function EventScreen({ eventId }: { eventId: string }) {
  const detail = useQuery(api.screensEvents.get, { id: eventId });
  if (detail === undefined) return <Loading what="the event" rows={6} />;
  if (detail === null) {
    return (
      <Empty
        icon={CircleOff}
        title="There is no such event"
        action={<ButtonLink href="/app/events">All billing events</ButtonLink>}
      >
        It is not one of yours, or the address has a typing error.
      </Empty>
    );
  }
  const { event, receipts, payload, isPayloadCut } = detail;
  return (
    <>
      <div className="flex flex-col gap-3">
        <BackLink href="/app/events">All billing events</BackLink>
        <ScreenHead title={typeName(event.type)}>{cameTo(event)}</ScreenHead>
      </div>
      <Replay event={event} />
      <div className="grid items-start gap-6 xl:grid-cols-[22rem_minmax(0,1fr)]">
        <About event={event} />
        <Panel
          id="body"
          title="The signed text"
          about="As the provider sent it, indented for reading."
          aside={<CopyButton text={payload} label="Copy" />}
        >
          <pre
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- so that the keyboard can scroll it
            tabIndex={0}
            role="region"
            aria-label="The signed text"
            className="max-h-112 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs leading-relaxed"
          >
            {payload}
          </pre>
          {isPayloadCut && (
            <p className="text-xs text-muted">
              Its beginning; the data export has up to 500,000 characters of it.
            </p>
          )}
        </Panel>
      </div>
      <Panel
        id="receipts"
        title={deliveriesTitle(event.seenCount)}
        about={`Each time the provider sent it, the newest first${receipts.length < event.seenCount ? `; the last ${receipts.length} are shown` : ""}. Copies are kept as receipts and change nothing.`}
      >
        <Table
          label="Deliveries"
          columns={RECEIPT_COLUMNS}
          rows={receipts.map((receipt, index) => ({ ...receipt, place: receipts.length - index }))}
          keyOf={({ place }) => String(place)}
        />
      </Panel>
    </>
  );
}

function About({ event }: { event: EventView }) {
  const { status, type, eventId, occurredAtMs, receivedAtMs, seenCount, attempts, nextAttemptAtMs } = event;
  return (
    <Panel
      id="about"
      title="Event"
      about={EVENT_STATUSES[status].about}
      aside={<EventState status={status} />}
    >
      <dl className="flex flex-col gap-2 text-sm">
        <Fact name="Type">
          <span className="font-mono text-xs">{type ?? "none"}</span>
        </Fact>
        <Fact name="Happened">{occurredAtMs === null ? "not told" : <Instant ms={occurredAtMs} />}</Fact>
        <Fact name="Received">
          <Instant ms={receivedAtMs} />
        </Fact>
        <Fact name="Deliveries">
          {seenCount === 1 ? "1" : `${seenCount}, of which ${countOf(seenCount - 1, "copy", "copies")}`}
        </Fact>
        <Fact name="Attempts">{attempts}</Fact>
        {status === "failed" && nextAttemptAtMs !== null && (
          <Fact name="Next attempt">
            <Instant ms={nextAttemptAtMs} />
          </Fact>
        )}
        <Fact name="Event id">
          <span className="font-mono text-xs">{eventId ?? "none"}</span>
        </Fact>
      </dl>
    </Panel>
  );
}
