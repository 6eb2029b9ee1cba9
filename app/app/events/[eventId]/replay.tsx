"use client";

import { useMutation } from "convex/react";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { api } from "../../../../convex/_generated/api";
import { Button } from "../../../components/button.tsx";
import { ConfirmDialog } from "../../../components/dialog.tsx";
import { Notice } from "../../../components/notice.tsx";
import { Panel } from "../../../components/panel.tsx";
import { Replays } from "./replays.tsx";
import { cameTo, type EventView, isSettled } from "../came-to.ts";

/** What came of the last press. `before`: the event as it was then. */
type Pressed =
  | { readonly kind: "queued"; readonly before: EventView }
  | { readonly kind: "running" | "forbidden" | "not_found" };

/** Sends an event through the same guards once more, and says what that changed. */
export function Replay({ event }: { event: EventView }) {
  const replay = useMutation(api.inboxEvents.replay);
  const [isAsking, setIsAsking] = useState(false);
  const [pressed, setPressed] = useState<Pressed | null>(null);
  const isHeldBack = event.status === "quarantined";

  async function onConfirm() {
    const { kind } = await replay({ id: event.id });
    setPressed(kind === "queued" ? { kind, before: event } : { kind });
  }

  return (
    <Panel
      id="replay"
      title="Replay"
      about="Sends the stored event through the same checks once more. What it did already is not done twice."
      aside={
        <Button disabled={isHeldBack} onClick={() => setIsAsking(true)}>
          <RotateCcw aria-hidden className="size-4" />
          Replay
        </Button>
      }
    >
      <div role="status" className="-mt-1 empty:hidden">
        {pressed !== null && <Result pressed={pressed} event={event} />}
      </div>
      {isHeldBack && (
        <Notice
          tone="warn"
          title="Held back"
          next="An operator looks at it and may replay it; you need not do anything."
        >
          It came more than seven days away from its own time, which a late copy and a forgery have in common.
        </Notice>
      )}
      <Replays eventId={event.id} isSettled={isSettled(event)} />
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title="Replay this event?"
        confirm="Replay it"
        cancel="Not now"
        look="primary"
        act={onConfirm}
      >
        <p>
          {event.status === "applied"
            ? "It is applied already, so nothing will change: the same plan, the same credits, no second booking."
            : "It is tried again with six fresh attempts. Newer events that are stored keep outranking it."}
        </p>
      </ConfirmDialog>
    </Panel>
  );
}

function Result({ pressed, event }: { pressed: Pressed; event: EventView }) {
  switch (pressed.kind) {
    case "not_found":
      return <Notice tone="bad" title="The event is not there any more" />;
    case "running":
      return (
        <Notice tone="info" title="It is being applied right now" next="Wait a moment; its status is live." />
      );
    case "forbidden":
      return (
        <Notice tone="warn" title="It is quarantined" next="Only an operator can replay it; ask for that." />
      );
    case "queued":
      if (!isSettled(event)) return <Notice tone="info" title="Replaying…" />;
      return <Replayed before={pressed.before} event={event} />;
  }
}

function Replayed({ before, event }: { before: EventView; event: EventView }) {
  const isSame = before.status === event.status && before.result === event.result;
  if (event.status === "applied" && isSame) {
    return (
      <Notice tone="good" title="Replayed: nothing changed">
        It had been applied before. It went through every check again and found its work done.
      </Notice>
    );
  }
  if (isSame && event.status === "ignored") {
    return (
      <Notice tone="good" title="Replayed: nothing changed">
        Again: {cameTo(event)}
      </Notice>
    );
  }
  return (
    <Notice
      tone={event.status === "applied" || event.status === "ignored" ? "good" : "bad"}
      title={event.status === "applied" ? "Replayed: it is applied now" : "Replayed"}
    >
      {cameTo(event)}
    </Notice>
  );
}
