"use client";

import { Notice } from "../../components/notice.tsx";
import { Figure, Figures, Panel } from "../../components/panel.tsx";
import { PlayerBar } from "../../components/player-bar.tsx";
import { formatUnits } from "../../components/format.ts";
import { type Column, Table } from "../../components/table.tsx";
import { type Speed, usePlayer } from "../../components/use-player.ts";
import { DeliveryStrip } from "./delivery-strip.tsx";
import { NaiveSide, PipelineSide } from "./room-side.tsx";
import { EVENT_NAMES, naiveWords, pipelineDeeds, planName, type Run, sideWords } from "./words.ts";

/** Long enough to read what happened. */
const DELIVERY_MS = 3_500;

/** A run: while it goes on how far it is, and then delivery by delivery. */
export function RoomRun(props: {
  run: Run;
  isFresh: boolean;
  speed: Speed;
  onSpeed: (speed: Speed) => void;
}) {
  const { run } = props;
  if (run.status !== "running") return <Replay {...props} />;
  return (
    <Panel
      id="running"
      title="The deliveries arrive"
      about="For real, through the inbox of this installation. As soon as all have come, they are played."
    >
      <progress
        aria-label="Deliveries"
        className="h-2 w-full accent-accent"
        value={run.steps.length}
        max={run.script.length}
      />
      <p role="status" className="text-sm text-muted tabular-nums">
        {run.steps.length} of {run.script.length} have arrived
      </p>
    </Panel>
  );
}

function Replay(props: { run: Run; isFresh: boolean; speed: Speed; onSpeed: (speed: Speed) => void }) {
  const { run, isFresh, speed, onSpeed } = props;
  const player = usePlayer({ count: run.steps.length, isFresh, speed, delayMs: () => DELIVERY_MS });
  const { at, count, isPlaying, go } = player;
  return (
    <>
      {(run.status === "stopped" || run.status === "failed") && <Ended run={run} />}
      <PlayerBar player={player} step="Delivery" speed={speed} onSpeed={onSpeed} isAsked={isFresh} />
      <DeliveryStrip run={run} at={at} go={go} />
      <div aria-live={isPlaying ? "off" : "polite"} className="grid gap-6 lg:min-h-72 lg:grid-cols-2">
        <NaiveSide run={run} at={at} />
        <PipelineSide run={run} at={at} />
      </div>
      {run.status === "finished" && at === count && <Verdict run={run} />}
      {at > 0 && <Deliveries run={run} at={at} />}
    </>
  );
}

function Ended({ run }: { run: Run }) {
  const { status, failure, steps, script } = run;
  const [title, why] =
    status === "stopped"
      ? [
          "This run stopped in the middle",
          "The engine ended while it went on, and what drives a run is not started again.",
        ]
      : ["This run could not go on", failure];
  return (
    <Notice tone="warn" title={title} next="Start another one above; it has an account of its own.">
      {steps.length} of {script.length} deliveries were recorded. {why}
    </Notice>
  );
}

function Verdict({ run }: { run: Run }) {
  const { naive, pipeline, start, upgradeUnits } = run;
  const due = start.balanceUnits + upgradeUnits;
  const off = naive.balanceUnits - due;
  return (
    <Panel
      id="verdict"
      title="At the end"
      about={`One customer bought Pro once, so the right answer is ${planName(pipeline)} with ${formatUnits(due)} credits, whatever the order.`}
    >
      <div className="grid gap-6 lg:grid-cols-2">
        <section aria-labelledby="verdict-naive" className="flex flex-col gap-3 rounded-lg bg-bad-soft p-4">
          <h3 id="verdict-naive" className="text-sm font-semibold">
            Naive handler
          </h3>
          <p className="text-2xl font-semibold tracking-tight text-bad tabular-nums">{sideWords(naive)}</p>
          <p className="text-sm text-pretty">{naiveEnd(off, planName(naive) === planName(pipeline))}</p>
        </section>
        <section
          aria-labelledby="verdict-pipeline"
          className="flex flex-col gap-3 rounded-lg bg-good-soft p-4"
        >
          <h3 id="verdict-pipeline" className="text-sm font-semibold">
            Pipeline
          </h3>
          <p className="text-2xl font-semibold tracking-tight text-good tabular-nums">
            {sideWords(pipeline)}
          </p>
          <p className="text-sm text-pretty">
            {formatUnits(pipeline.grants)} Pro {pipeline.grants === 1 ? "grant" : "grants"}, whatever came
            twice, late, or broke off half-way.
          </p>
        </section>
      </div>
      <Figures>
        <Figure name="Receipts">{formatUnits(pipeline.receipts)}</Figure>
        <Figure name="Events stored">{formatUnits(pipeline.stored)}</Figure>
        <Figure name="Copies counted">{formatUnits(pipeline.copies)}</Figure>
        <Figure name="Pro grants">{formatUnits(pipeline.grants)}</Figure>
        <Figure name="Events ignored">{formatUnits(pipeline.ignored)}</Figure>
      </Figures>
    </Panel>
  );
}

function naiveEnd(off: number, hasPlan: boolean): string {
  const credits =
    off === 0
      ? "The right number of credits, by luck"
      : `${formatUnits(Math.abs(off))} credits too ${off > 0 ? "many" : "few"}`;
  return `${credits}${hasPlan ? "" : ", and the wrong plan"}. Another order of the same deliveries ends elsewhere.`;
}

interface Row {
  readonly run: Run;
  readonly index: number;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Delivery",
    cell: ({ run, index }) => (
      <span className="font-medium md:whitespace-nowrap">
        {index + 1}. {EVENT_NAMES[run.steps[index]!.event]}
      </span>
    ),
  },
  {
    name: "Naive",
    cell: ({ run, index }) => (
      <After side={sideWords(run.steps[index]!.naive)}>{naiveWords(run, index).deed}</After>
    ),
  },
  {
    name: "Pipeline",
    cell: ({ run, index }) => (
      <After side={sideWords(run.steps[index]!.pipeline)}>
        {pipelineDeeds(run, index)
          .map(({ text }) => text)
          .join(" ")}
      </After>
    ),
  },
];

function After({ side, children }: { side: string; children: string }) {
  return (
    <span className="flex flex-col gap-0.5">
      <span className="whitespace-nowrap tabular-nums">{side}</span>
      <span className="text-xs text-pretty text-muted">{children}</span>
    </span>
  );
}

/** All that has been shown so far, to read on one page. */
function Deliveries({ run, at }: { run: Run; at: number }) {
  const rows = Array.from({ length: at }, (_, index) => ({ run, index }));
  return (
    <Panel id="so-far" title="Step by step">
      <Table label="Deliveries so far" columns={COLUMNS} rows={rows} keyOf={({ index }) => String(index)} />
    </Panel>
  );
}
