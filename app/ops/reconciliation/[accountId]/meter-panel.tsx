"use client";

import { CircleAlert, CircleCheck, CircleDashed, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { isTrouble, type Standing } from "../../../../lib/ledger/standing.ts";
import { Badge } from "../../../components/badge.tsx";
import { ButtonLink } from "../../../components/button.tsx";
import { formatUnits } from "../../../components/format.ts";
import { Panel } from "../../../components/panel.tsx";
import { Ago } from "../../../components/time.tsx";
import { Difference, meterUnitsOf, type MeterView } from "../meter-table.tsx";
import { STANDING_NAMES, STANDING_REASONS } from "../words.ts";

const GOOD: readonly Standing[] = ["proven", "repaired"];

/** One meter: its three numbers, whether it is right, and how that is known. */
export function MeterPanel({ meter }: { meter: MeterView }) {
  const { standing, sendError, ledgerUnits, isAtProvider } = meter;
  // Of a copy that is kept here nothing was sent and nothing read.
  const { sent, reading } = isAtProvider ? meter : { sent: null, reading: null };
  const { name, tone } = STANDING_NAMES[standing];
  const meterUnits = meterUnitsOf(meter);
  const isGood = GOOD.includes(standing);
  const Icon: LucideIcon = isGood ? CircleCheck : isTrouble(standing) ? CircleAlert : CircleDashed;
  const error = meter.reading?.error ?? (standing === "failing" ? sendError : null);
  return (
    <Panel
      id={`meter-${meter.id}`}
      title={`${meter.feature === "clicks" ? "Clicks" : "Tokens"}, cycle ${meter.cycle}`}
      about={aboutOf(meter)}
      aside={<Badge tone={tone}>{name}</Badge>}
    >
      <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        <Number
          name="Provider's meter"
          value={meterUnits === null ? (isAtProvider ? "not read" : "none") : formatUnits(meterUnits)}
          age={
            reading !== null && (
              <>
                {meterUnits === null ? "tried" : "read"} <Ago ms={reading.atMs} />
              </>
            )
          }
        />
        <Number name="Ledger" value={formatUnits(ledgerUnits)} age="now" />
        <Number
          name="Sent last"
          value={sent === null ? "nothing" : formatUnits(sent.totalUnits)}
          age={
            sent !== null && (
              <>
                confirmed <Ago ms={sent.atMs} />
              </>
            )
          }
        />
        <Number
          name="Difference"
          value={<Difference meter={meter} />}
          age={isAtProvider && "meter less ledger"}
        />
      </dl>
      <div className="flex gap-2.5 text-sm">
        <Icon
          aria-hidden
          className={`mt-0.5 size-4 shrink-0 ${isGood ? "text-good" : isTrouble(standing) ? "text-bad" : "text-muted"}`}
        />
        <div className="flex min-w-0 flex-col items-start gap-2">
          <p>{STANDING_REASONS[standing]}</p>
          {error !== null && isTrouble(standing) && <p className="break-words text-muted">{error}</p>}
          {standing === "needs_review" && (
            <ButtonLink size="sm" href="/ops/reviews">
              Open the reviews
            </ButtonLink>
          )}
        </div>
      </div>
    </Panel>
  );
}

/** The agreement of an account without a customer at the provider is one of ours, and of no use elsewhere. */
function aboutOf({ agreementId, isAtProvider }: MeterView): string {
  if (agreementId === null) return "No agreement";
  return isAtProvider ? `Agreement ${agreementId}` : "No agreement at the provider";
}

function Number({ name, value, age }: { name: string; value: ReactNode; age: ReactNode }) {
  return (
    <div className="flex min-w-0 flex-col rounded-lg bg-page px-4 py-3">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="text-2xl font-semibold tracking-tight tabular-nums">{value}</dd>
      <dd className="text-xs text-muted">{age}</dd>
    </div>
  );
}
