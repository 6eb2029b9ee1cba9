"use client";

import { useQuery } from "convex/react";
import { type ReactNode, useState } from "react";
import { api } from "../../../convex/_generated/api";
import type { EntryView } from "../../../convex/entryRows.ts";
import { whyText } from "../../../lib/ledger/why.ts";
import { Button } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { formatInstant, formatInstantSeconds } from "../../components/format.ts";
import { Loading } from "../../components/states.tsx";
import { planName } from "../plan/plans.ts";

export type WhyQuery = typeof api.entries.why | typeof api.entries.whyForOperator;

/** "Why was this billed", or was not: from the row to the bill, in sentences, and the facts behind them. */
export function WhyDialog(props: {
  query: WhyQuery;
  entry: EntryView | null;
  isOpen: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog
      isOpen={props.isOpen}
      onClose={props.onClose}
      title={props.entry?.units === 0 ? "Why was this not billed?" : "Why was this billed?"}
    >
      {props.entry !== null && <WhyOf key={props.entry.id} query={props.query} entryId={props.entry.id} />}
    </Dialog>
  );
}

/** An entry, and from there to the one it corrects or that moved it. */
function WhyOf({ query, entryId }: { query: WhyQuery; entryId: string }) {
  const [shownId, setShownId] = useState(entryId);
  return <Why key={shownId} query={query} entryId={shownId} onShow={setShownId} />;
}

function Why(props: { query: WhyQuery; entryId: string; onShow: (entryId: string) => void }) {
  const { query, entryId, onShow } = props;
  const found = useQuery(query, { entryId });
  if (found === undefined) return <Loading what="the reasons" />;
  if (found === null) return <p className="text-sm">This entry is not there any more.</p>;
  const { entry, facts } = found;
  const { agreementId, feature, cycle, origin } = entry;
  const { moved } = facts;
  const isCorrection = origin.kind !== "click" && origin.kind !== "job";
  // The account is the reader; its id adds nothing to the words.
  const meter = { accountId: "", agreementId, feature, cycle };
  const { title, reasons } = whyText({ ...facts, entry, meter }, formatInstant, planName);
  return (
    <div className="flex flex-col gap-4 text-sm">
      <p className="text-base font-semibold">{title}</p>
      <ol className="flex list-decimal flex-col gap-2 pl-5 marker:text-muted">
        {reasons.map((reason) => (
          <li key={reason} className="pl-1 break-words">
            {reason}
          </li>
        ))}
      </ol>
      <dl className="flex flex-col gap-1.5 border-t border-line pt-4 text-xs">
        {origin.kind === "click" && (
          <>
            <Fact name="Agent">{origin.agent ?? "none sent"}</Fact>
            <Fact name="Came from">{origin.referrer ?? "not said"}</Fact>
          </>
        )}
        {agreementId !== null && (
          <Fact name="Agreement">
            <span className="font-mono">{agreementId}</span>
          </Fact>
        )}
        <Fact name="Entry">
          <span className="font-mono">{entry.id}</span>
        </Fact>
        {isCorrection && (
          <>
            <Fact name="Happened">{formatInstantSeconds(entry.atMs)}</Fact>
            <Fact name="Booked">{formatInstantSeconds(entry.bookedAtMs)}</Fact>
          </>
        )}
      </dl>
      <div className="flex flex-wrap gap-2">
        {"correctsEntryId" in origin && (
          <Button size="sm" onClick={() => onShow(origin.correctsEntryId)}>
            Show the entry it corrects
          </Button>
        )}
        {moved !== null && (
          <Button size="sm" onClick={() => onShow(moved.entryId)}>
            Show the row that moved it
          </Button>
        )}
        <CopyButton text={entry.id} label="Copy the entry's id" />
      </div>
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[6rem_minmax(0,1fr)] gap-3">
      <dt className="text-muted">{name}</dt>
      <dd className="break-words">{children}</dd>
    </div>
  );
}
