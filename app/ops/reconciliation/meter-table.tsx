"use client";

import type { FunctionReturnType } from "convex/server";
import type { api } from "../../../convex/_generated/api";
import { Badge } from "../../components/badge.tsx";
import { ButtonLink } from "../../components/button.tsx";
import { formatUnits } from "../../components/format.ts";
import { type Column, Table } from "../../components/table.tsx";
import { Ago } from "../../components/time.tsx";
import {
  agreementMark,
  differenceTone,
  formatDifference,
  STANDING_NAMES,
  STANDING_REASONS,
} from "./words.ts";

export type MeterAccount = FunctionReturnType<typeof api.screensReconciliation.accounts>["accounts"][number];
export type MeterView = MeterAccount["meters"][number];

interface Row {
  readonly account: MeterAccount;
  readonly meter: MeterView;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Account",
    cell: ({ account: { name, email } }) => (
      <span className="block max-w-44 truncate" title={email ?? name}>
        <span className="font-medium">{name}</span>
        {email !== null && email !== name && (
          <span className="block truncate text-xs text-muted">{email}</span>
        )}
      </span>
    ),
  },
  {
    name: "Meter",
    cell: ({ account, meter }) => {
      const mark = agreementMark(meter, account.meters);
      return (
        <span title={meter.agreementId ?? "no agreement"}>
          {meter.feature} <span className="block text-xs whitespace-nowrap text-muted">{meter.cycle}</span>
          {mark !== null && <span className="block text-xs whitespace-nowrap text-muted">{mark}</span>}
        </span>
      );
    },
  },
  {
    name: "Provider",
    isNumber: true,
    cell: ({ meter }) => (
      <Units units={meterUnitsOf(meter)} none={meter.isAtProvider ? "not read" : "none"} />
    ),
  },
  { name: "Ledger", isNumber: true, cell: ({ meter }) => formatUnits(meter.ledgerUnits) },
  {
    name: "Sent",
    isNumber: true,
    cell: ({ meter }) => <Units units={sentUnitsOf(meter)} none="nothing" />,
  },
  { name: "Difference", isNumber: true, cell: ({ meter }) => <Difference meter={meter} /> },
  { name: "Status", cell: ({ meter }) => <MeterStatus meter={meter} /> },
  {
    name: "Evidence",
    isActions: true,
    cell: ({ account }) => (
      <ButtonLink size="sm" href={`/ops/reconciliation/${account.id}`}>
        Evidence<span className="sr-only"> of {account.name}</span>
      </ButtonLink>
    ),
  },
];

export function MeterTable({ accounts }: { accounts: readonly MeterAccount[] }) {
  const rows = accounts.flatMap((account) => account.meters.map((meter) => ({ account, meter })));
  return <Table label="Meters" columns={COLUMNS} rows={rows} keyOf={({ meter }) => meter.id} />;
}

/** What the provider showed when it was read last; a copy that is kept here is no reading of it. */
export function meterUnitsOf({ isAtProvider, reading }: MeterView): number | null {
  return isAtProvider ? (reading?.meterUnits ?? null) : null;
}

/** The last total that the provider took. */
export function sentUnitsOf({ isAtProvider, sent }: MeterView): number | null {
  return isAtProvider ? (sent?.totalUnits ?? null) : null;
}

function Units({ units, none }: { units: number | null; none: string }) {
  return units === null ? <span className="text-muted">{none}</span> : formatUnits(units);
}

export function Difference({ meter }: { meter: MeterView }) {
  const meterUnits = meterUnitsOf(meter);
  if (!meter.isAtProvider) return <span className="text-muted">none</span>;
  if (meterUnits === null) return <span className="text-muted">unknown</span>;
  const units = meterUnits - meter.ledgerUnits;
  return <span className={differenceTone(units, meter.standing)}>{formatDifference(units)}</span>;
}

export function MeterStatus({ meter: { standing, reading, isAtProvider } }: { meter: MeterView }) {
  const { name, tone } = STANDING_NAMES[standing];
  return (
    <span className="flex flex-col items-start gap-0.5" title={STANDING_REASONS[standing]}>
      <Badge tone={tone}>{name}</Badge>
      {isAtProvider && reading !== null && (
        <span className="text-xs whitespace-nowrap text-muted">
          {reading.meterUnits === null ? "tried" : "read"} <Ago ms={reading.atMs} />
        </span>
      )}
    </span>
  );
}
