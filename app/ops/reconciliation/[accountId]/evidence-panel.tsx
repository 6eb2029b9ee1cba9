"use client";

import type { FunctionReturnType } from "convex/server";
import { FileClock } from "lucide-react";
import type { ReactNode } from "react";
import { api } from "../../../../convex/_generated/api";
import { Badge, type Tone } from "../../../components/badge.tsx";
import { formatUnits } from "../../../components/format.ts";
import { ListBody } from "../../../components/list-body.tsx";
import { Panel } from "../../../components/panel.tsx";
import { Empty } from "../../../components/states.tsx";
import { Ago, Instant } from "../../../components/time.tsx";
import { useList } from "../../../components/use-list.ts";
import { COPY_REPAIRED, COPY_VERDICTS, formatDifference, STATUS_TITLES, VERDICTS } from "../words.ts";

type Evidence = FunctionReturnType<typeof api.evidence.list>["evidence"][number];

const PAGE = 10;
const DOTS: Record<Tone, string> = {
  neutral: "bg-edge",
  accent: "bg-accent",
  good: "bg-good",
  warn: "bg-warn",
  bad: "bg-bad",
};

/** What was found and done, the newest first: readings, decision, repair and read-back of each. */
export function EvidencePanel({ accountId }: { accountId: string }) {
  const list = useList(api.evidence.list, { accountId, limit: PAGE });
  return (
    <Panel
      id="evidence"
      title="Evidence"
      about="Each result that said something new about a meter. A run that finds the same again adds no row; it is noted on the one there is."
    >
      <ListBody
        list={list}
        rows={list.page?.evidence}
        what="evidence"
        loading="the evidence"
        loadingRows={5}
        noneFits={
          <Empty icon={FileClock} title="No evidence yet">
            The first run that reads a meter of this account leaves some.
          </Empty>
        }
      >
        {(found) => (
          <ol aria-label="Evidence" className="flex flex-col">
            {found.map((evidence) => (
              <Item key={evidence.id} evidence={evidence} />
            ))}
          </ol>
        )}
      </ListBody>
    </Panel>
  );
}

function Item({ evidence }: { evidence: Evidence }) {
  const { status, feature, cycle, atMs, seenAtMs, verdict, cause, isAtProvider } = evidence;
  const { title, tone } = STATUS_TITLES[status];
  const isCopyRepaired = !isAtProvider && status === "repaired_and_confirmed";
  return (
    <li className="relative flex gap-4 pb-8 last:pb-0">
      <span aria-hidden className="absolute top-3 bottom-0 left-[5px] w-px bg-line in-last:hidden" />
      <span
        aria-hidden
        className={`mt-1.5 size-[11px] shrink-0 rounded-full ${DOTS[isCopyRepaired ? "neutral" : tone]}`}
      />
      <div className="flex min-w-0 flex-1 flex-col gap-3">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <h3 className="text-sm font-semibold">{isCopyRepaired ? COPY_REPAIRED : title}</h3>
          <Badge>
            {feature} {cycle}
          </Badge>
          <span className="text-sm text-muted">
            <Instant ms={atMs} />
            {seenAtMs > atMs && (
              <>
                , found again <Ago ms={seenAtMs} />
              </>
            )}
          </span>
        </div>
        <dl className="grid gap-x-4 gap-y-2 text-sm sm:grid-cols-[7rem_minmax(0,1fr)]">
          <Step name="Readings">
            <Readings evidence={evidence} />
          </Step>
          <Step name="Decision">
            {(isAtProvider ? VERDICTS : COPY_VERDICTS)[verdict]}
            {isAtProvider && cause !== null && <span className="block text-muted">{cause}</span>}
          </Step>
          <Repair evidence={evidence} />
        </dl>
      </div>
    </li>
  );
}

function Readings({
  evidence: { meterUnits, ledgerUnits, counterUnits, sentUnits, isAtProvider },
}: {
  evidence: Evidence;
}) {
  return (
    <>
      <span className="flex flex-wrap gap-x-5 gap-y-1 tabular-nums">
        <Reading name={isAtProvider ? "meter" : "own copy"} units={meterUnits} none="not readable" />
        <Reading name="ledger" units={ledgerUnits} none="" />
        {isAtProvider && <Reading name="sent" units={sentUnits} none="nothing" />}
        {meterUnits !== null && (
          <span className={meterUnits === ledgerUnits ? "text-good" : "font-medium text-bad"}>
            {meterUnits === ledgerUnits
              ? "no difference"
              : `difference ${formatDifference(meterUnits - ledgerUnits)}`}
          </span>
        )}
      </span>
      {counterUnits !== ledgerUnits && (
        <span className="block text-muted">
          The counters said {formatUnits(counterUnits)} and were rebuilt from the ledger&apos;s rows first.
        </span>
      )}
    </>
  );
}

function Reading({ name, units, none }: { name: string; units: number | null; none: string }) {
  return (
    <span>
      <span className="text-muted">{name}</span>{" "}
      <span className="font-medium">{units === null ? none : formatUnits(units)}</span>
    </span>
  );
}

function Repair({ evidence }: { evidence: Evidence }) {
  const { status, ledgerUnits, readBackUnits, error, isAtProvider } = evidence;
  const name = isAtProvider ? "meter" : "copy";
  if (status === "repaired_and_confirmed") {
    return (
      <>
        <Step name="Repair">
          {formatUnits(ledgerUnits)} was written as the {name}&apos;s total.
        </Step>
        <Step name="Read-back">
          <span className="text-good">
            {formatUnits(readBackUnits ?? ledgerUnits)} was read back: the {name} is right.
          </span>
        </Step>
      </>
    );
  }
  if (error === null) return null;
  return (
    <Step name={status === "error" ? "Repair" : "Reason"}>
      <span className="break-words text-bad">{error}</span>
    </Step>
  );
}

function Step({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="contents">
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  );
}
