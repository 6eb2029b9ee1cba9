"use client";

import { useMutation, useQuery } from "convex/react";
import { RotateCcw } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog, Dialog } from "../../components/dialog.tsx";
import {
  deliveriesTitle,
  EVENT_STATUSES,
  EventState,
  RECEIPT_FLAGS,
  typeName,
} from "../../components/event-words.tsx";
import { Loading } from "../../components/states.tsx";
import { Ago, Instant } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";

const NOT_REPLAYED = {
  running: "A worker is applying it at this moment.",
  forbidden: "It is quarantined and may not be replayed.",
  not_found: "It is not there any more.",
} as const;

/** One event: what became of it, its deliveries, its signed body, and the replay. */
export function EventDialog({ id, isOpen, onClose }: { id: string; isOpen: boolean; onClose: () => void }) {
  const found = useQuery(api.inboxEvents.get, isOpen ? { id } : "skip");
  const replay = useMutation(api.inboxEvents.replayAny);
  const [isAsking, setIsAsking] = useState(false);

  async function onReplay() {
    const { kind } = await replay({ id });
    if (kind === "queued") toast.done("The event is due again", "A worker takes it within moments.");
    else toast.failed("Not replayed", NOT_REPLAYED[kind]);
  }

  const event = found?.event;
  return (
    <>
      <Dialog isWide isOpen={isOpen} onClose={onClose} title={typeName(event?.type ?? null)}>
        {found === undefined ? (
          <Loading what="the event" rows={4} />
        ) : found === null ? (
          <p className="text-sm">This event is not there any more.</p>
        ) : (
          <div className="flex min-w-0 flex-col gap-5 text-sm">
            <div className="flex flex-wrap items-center justify-between gap-3">
              <p className="flex min-w-0 flex-1 flex-col items-start gap-1.5">
                <EventState status={found.event.status} />
                <span className="text-muted">{EVENT_STATUSES[found.event.status].about}</span>
              </p>
              <Button onClick={() => setIsAsking(true)}>
                <RotateCcw aria-hidden className="size-4" />
                Replay
              </Button>
            </div>
            <dl className="grid gap-x-4 gap-y-0.5 sm:gap-y-1.5 sm:grid-cols-[8rem_minmax(0,1fr)]">
              {found.event.error !== null && (
                <Fact name="Last error">
                  <span className="text-bad">{found.event.error}</span>
                </Fact>
              )}
              {found.event.result !== null && <Fact name="What it came to">{found.event.result}</Fact>}
              <Fact name="Attempts">
                {found.event.attempts}
                {found.event.nextAttemptAtMs !== null && (
                  <>
                    , next <Instant ms={found.event.nextAttemptAtMs} />
                  </>
                )}
              </Fact>
              {found.event.occurredAtMs !== null && (
                <Fact name="Happened">
                  <Instant ms={found.event.occurredAtMs} />
                </Fact>
              )}
              <Fact name="Event id">
                <span className="font-mono text-xs">{found.event.eventId ?? "none"}</span>
              </Fact>
            </dl>
            <section className="flex flex-col gap-2">
              <h3 className="font-semibold">
                {deliveriesTitle(found.event.seenCount)}
                {found.receipts.length < found.event.seenCount && `, the newest ${found.receipts.length}`}
              </h3>
              <ul
                aria-label="Receipts"
                className="flex max-h-40 flex-col divide-y divide-line overflow-y-auto"
              >
                {found.receipts.map((receipt) => (
                  <li
                    key={`${receipt.atMs} ${receipt.webhookId ?? ""}`}
                    className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5"
                  >
                    <Ago ms={receipt.atMs} />
                    <Badge>{receipt.isCopy ? "copy" : "first"}</Badge>
                    <span className="min-w-0 font-mono text-xs break-all text-muted">
                      {receipt.webhookId ?? "no delivery id"}, key {receipt.kid}
                    </span>
                    {receipt.flags.map((flag) => (
                      <span key={flag} className="text-warn">
                        {RECEIPT_FLAGS[flag]}
                      </span>
                    ))}
                  </li>
                ))}
              </ul>
            </section>
            <section className="flex min-w-0 flex-col gap-2">
              <h3 className="font-semibold">The signed text</h3>
              <pre
                // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- so that the keyboard can scroll it
                tabIndex={0}
                className="max-h-72 overflow-auto rounded-lg bg-sunken p-3 font-mono text-xs"
              >
                {found.payload}
              </pre>
              {found.isPayloadCut && <p className="text-muted">It is longer; only its beginning is shown.</p>}
            </section>
          </div>
        )}
      </Dialog>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title="Replay this event?"
        confirm="Replay it"
        cancel="Leave it"
        look="primary"
        act={onReplay}
      >
        <p>
          It becomes due again, with a full set of attempts, and goes through the same guards as any event:
          what was applied already, or is older than what is known, changes nothing. The replay is written to
          the audit.
        </p>
      </ConfirmDialog>
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="mb-1.5 min-w-0 break-words sm:mb-0">{children}</dd>
    </>
  );
}
