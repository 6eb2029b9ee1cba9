"use client";

import { useMutation, useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { Bell, SearchX } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/dialog.tsx";
import { formatInstant } from "../../components/format.ts";
import { ListBody } from "../../components/list-body.tsx";
import { FilterField, ListControls, optionsOf, SearchField } from "../../components/list-controls.tsx";
import { Panel } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Countdown, Instant } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { useList } from "../../components/use-list.ts";

type ReminderView = FunctionReturnType<typeof api.screensReminders.recent>["reminders"][number];

const FILTERS = { waiting: "To come", unread: "Unread", delivered: "Delivered", cancelled: "Cancelled" };
type Filter = keyof typeof FILTERS | "";

const columnsOf = (
  onRead: (reminder: ReminderView) => void,
  onCancel: (reminder: ReminderView) => void,
): readonly Column<ReminderView>[] => [
  {
    name: "Message",
    cell: ({ text, status, readAtMs }) => (
      <span
        className={`block max-w-md break-words whitespace-pre-line ${status === "delivered" && readAtMs === null ? "font-medium" : ""} ${status === "cancelled" ? "text-muted" : ""}`}
      >
        {text}
      </span>
    ),
  },
  { name: "State", cell: (reminder) => <State reminder={reminder} /> },
  { name: "Time", cell: (reminder) => <Instant ms={reminder.deliveredAtMs ?? reminder.dueAtMs} /> },
  {
    name: "Actions",
    isActions: true,
    cell: (reminder) => (
      <>
        {reminder.status === "waiting" && (
          <Button size="sm" look="danger" onClick={() => onCancel(reminder)}>
            Cancel<span className="sr-only"> {reminder.text}</span>
          </Button>
        )}
        {reminder.status === "delivered" && reminder.readAtMs === null && (
          <Button size="sm" onClick={() => onRead(reminder)}>
            Mark as read<span className="sr-only">: {reminder.text}</span>
          </Button>
        )}
      </>
    ),
  },
];

function State({ reminder: { status, readAtMs, dueAtMs } }: { reminder: ReminderView }) {
  if (status === "waiting") {
    return (
      <Badge tone="accent">
        in <Countdown untilMs={dueAtMs} over="a moment" />
      </Badge>
    );
  }
  if (status === "cancelled") return <Badge>cancelled</Badge>;
  return readAtMs === null ? <Badge tone="warn">unread</Badge> : <Badge tone="good">read</Badge>;
}

/** Reminders of the account, live: what comes next first, otherwise the latest. */
export function ReminderList() {
  const [filter, setFilter] = useState<Filter>("");
  const [text, setText] = useState("");
  const list = useList(api.screensReminders.recent, {
    ...(filter === "" || filter === "unread" ? {} : { status: filter }),
    ...(text === "" ? {} : { text }),
    isUnread: filter === "unread",
  });
  const arrivals = useQuery(api.screensReminders.arrivals, {});
  const markRead = useMutation(api.reminders.markRead);
  const [asked, setAsked] = useState<ReminderView | null>(null);
  // Kept while the dialog fades out, so that its words do not change on the way.
  const [isAsking, setIsAsking] = useState(false);
  const columns = columnsOf(
    (reminder) => void onRead(reminder),
    (reminder) => {
      setAsked(reminder);
      setIsAsking(true);
    },
  );

  async function onRead({ id }: ReminderView) {
    try {
      const { kind } = await markRead({ reminderId: id });
      if (kind === "not_delivered") toast.failed("Not marked", "The reminder has not come yet.");
      else if (kind === "not_found") toast.failed("Not marked", "The reminder is not there any more.");
    } catch {
      toast.failed("Not marked", "No answer came. Try again.");
    }
  }

  const isFiltered = filter !== "" || text !== "";

  return (
    <Panel
      id="reminders"
      title="Your reminders"
      aside={
        <div role="status" className="empty:hidden">
          {arrivals !== undefined && arrivals.unread > 0 && (
            <Badge tone="warn">{arrivals.unread} unread</Badge>
          )}
        </div>
      }
    >
      <ListControls>
        <SearchField label="Search reminders" placeholder="Part of the message…" onSearch={setText} />
        <FilterField
          label="State"
          className="sm:w-40"
          options={[["", "Any state"], ...optionsOf(FILTERS)]}
          value={filter}
          onChange={setFilter}
        />
      </ListControls>
      <ListBody
        list={list}
        rows={list.page?.reminders}
        what="reminders"
        loading="your reminders"
        loadingRows={4}
        isFiltered={isFiltered}
        pageNames={filter === "waiting" ? ["Sooner", "Later"] : ["Later", "Earlier"]}
        noneFits={
          <Empty icon={SearchX} title={list.hasMore ? "None on this page" : "No reminder fits"}>
            {list.hasMore ? "Older ones may fit." : "Change the search or the state."}
          </Empty>
        }
        noneYet={
          <Empty icon={Bell} title="No reminder yet">
            Write one above. It arrives here, and as a message on whichever screen you are.
          </Empty>
        }
      >
        {(reminders) => <Table label="Reminders" columns={columns} rows={reminders} keyOf={({ id }) => id} />}
      </ListBody>
      <CancelDialog reminder={asked} isOpen={isAsking} onClose={() => setIsAsking(false)} />
    </Panel>
  );
}

function CancelDialog(props: { reminder: ReminderView | null; isOpen: boolean; onClose: () => void }) {
  const cancel = useMutation(api.reminders.cancel);
  const { reminder } = props;

  async function onConfirm() {
    if (reminder === null) return;
    const answer = await cancel({ reminderId: reminder.id });
    switch (answer.kind) {
      case "cancelled":
        toast.done("The reminder is cancelled", "Its credit is back.");
        return;
      case "too_late":
        toast.failed(
          "Too late to cancel",
          `It was due ${formatInstant(answer.reminder.dueAtMs)}, so its credit is spent. You find it among the delivered ones.`,
        );
        return;
      case "not_found":
        toast.failed("Not cancelled", "The reminder is not there any more.");
    }
  }

  return (
    <ConfirmDialog
      isOpen={props.isOpen}
      onClose={props.onClose}
      title="Cancel the reminder?"
      confirm="Cancel the reminder"
      act={onConfirm}
    >
      <p className="line-clamp-4 break-words text-ink">“{reminder?.text}”</p>
      <p>
        It is due {reminder === null ? "" : <Instant ms={reminder.dueAtMs} />}. Cancelled before that, it
        gives its credit back to the month it was written in.
      </p>
    </ConfirmDialog>
  );
}
