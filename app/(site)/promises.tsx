import type { ReactNode } from "react";
import { formatUnits } from "../components/format.ts";
import figures from "./figures.json";

/** The jobs of the lab run that figures.json was written from (scripts/lab.ts). */
const LIMIT_UNITS = 100_000;

/** The three promises, each with the numbers of a real run. `npm run figures` makes them, a test compares. */
export function Promises() {
  const { lab, engineRoom, reconcile } = figures;
  return (
    <section aria-label="What it promises" className="grid gap-6 lg:grid-cols-3">
      <Promised
        title="The gate: limits hold"
        command="npm run lab"
        text="A job sets its part of the limit aside before it starts, is capped by it, pays what it used and returns the rest. What one job holds no other can start with."
      >
        <p className="text-sm text-muted">Five jobs of 40,000 at the same moment, limit 100,000</p>
        <Against name="Plain check" units={lab.plain.spent} of={lab.plain.spent} />
        <Against name="Holdfast" units={lab.held.spent} of={lab.plain.spent} />
      </Promised>
      <Promised
        title="The ledger: meters match"
        command="npm run bench:reconcile"
        text="Every click and every job is a row that never changes. The meter is their sum: reported as a total, read back, compared each night, written over and read again when it differs."
      >
        <p className="text-sm text-muted">Rows compared with the meter</p>
        <p className="text-4xl font-semibold tracking-tight tabular-nums">{formatUnits(reconcile.rows)}</p>
        <p className="text-sm text-muted">in {reconcile.seconds} seconds, on two cores</p>
      </Promised>
      <Promised
        title="The inbox: billing stays right"
        command="npm run engine-room"
        text="A billing event is stored before it is answered, applied once in one transaction, and judged by when it happened: late, twice or out of order, the end is the same."
      >
        <p className="text-sm text-muted">
          Nine deliveries of three events, one worker dies. Pro has 500 credits
        </p>
        <dl className="grid grid-cols-2 gap-4">
          <Credits name="Naive handler" units={engineRoom.naive.balance} tone="text-bad" />
          <Credits name="Holdfast" units={engineRoom.pipeline.balance} tone="text-good" />
        </dl>
      </Promised>
    </section>
  );
}

function Promised(props: { title: string; text: string; command: string; children: ReactNode }) {
  return (
    <article className="flex flex-col gap-4 rounded-xl border border-line bg-card p-6 shadow-xs">
      <h2 className="text-lg font-semibold tracking-tight">{props.title}</h2>
      <p className="text-sm text-pretty text-muted">{props.text}</p>
      <div className="mt-auto flex min-h-40 flex-col justify-center gap-3 rounded-lg bg-sunken p-4">
        {props.children}
      </div>
      <p className="text-xs text-muted">
        Made by <code className="font-mono text-ink">{props.command}</code>
      </p>
    </article>
  );
}

/** Spent units beside the limit: a bar up to it, and past it in another colour. */
function Against({ name, units, of }: { name: string; units: number; of: number }) {
  const overUnits = Math.max(0, units - LIMIT_UNITS);
  const share = (part: number): string => `${(part / of) * 100}%`;
  return (
    <div className="flex flex-col gap-1">
      <p className="flex justify-between gap-2 text-sm">
        <span className="font-medium">{name}</span>
        <span className={`tabular-nums ${overUnits > 0 ? "text-bad" : "text-good"}`}>
          {formatUnits(units)}
          {overUnits > 0 && `, ${formatUnits(overUnits)} over`}
        </span>
      </p>
      <div aria-hidden className="relative flex h-3 overflow-hidden rounded-full bg-card">
        <div className="bg-accent" style={{ width: share(units - overUnits) }} />
        <div className="bg-bad" style={{ width: share(overUnits) }} />
        <div className="absolute inset-y-0 w-0.5 bg-ink" style={{ left: share(LIMIT_UNITS) }} />
      </div>
    </div>
  );
}

function Credits({ name, units, tone }: { name: string; units: number; tone: string }) {
  return (
    <div className="flex flex-col gap-1">
      <dt className="text-sm font-medium">{name}</dt>
      <dd className={`text-3xl font-semibold tracking-tight tabular-nums ${tone}`}>{formatUnits(units)}</dd>
    </div>
  );
}
