"use client";

import {
  Check,
  CircleSlash,
  Clock,
  Copy,
  Database,
  Hand,
  type LucideIcon,
  Minus,
  ServerCrash,
  TriangleAlert,
} from "lucide-react";
import type { ReactNode } from "react";
import { formatUnits } from "../../components/format.ts";
import { Figure, Figures, Panel } from "../../components/panel.tsx";
import { type Deed, naiveWords, pipelineDeeds, planName, type Run, type Side } from "./words.ts";

const BEGIN = "Nothing has arrived yet.";

/** The handler that tutorials show, after `at` deliveries. */
export function NaiveSide({ run, at }: { run: Run; at: number }) {
  const side = run.steps[at - 1]?.naive ?? run.start;
  const before = run.steps[at - 2]?.naive ?? run.start;
  const words = at === 0 ? null : naiveWords(run, at - 1);
  return (
    <Panel
      id="naive"
      title="Naive handler"
      about="Does what an event says as soon as it arrives, and keeps nothing of it."
    >
      <Standing side={side} before={at === 0 ? null : before} />
      {words === null ? (
        <p className="text-sm text-muted">{BEGIN}</p>
      ) : (
        <div className="flex flex-col gap-2 text-sm text-pretty">
          <p>{words.deed}</p>
          <p className={`flex gap-2 font-medium ${words.verdict.isWrong ? "text-bad" : "text-muted"}`}>
            {words.verdict.isWrong && <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />}
            {words.verdict.text}
          </p>
        </div>
      )}
    </Panel>
  );
}

const MARKS: Readonly<Record<Deed["kind"], { icon: LucideIcon; look: string }>> = {
  stored: { icon: Database, look: "text-accent" },
  copy: { icon: Copy, look: "text-muted" },
  claimed: { icon: Hand, look: "text-accent" },
  crashed: { icon: ServerCrash, look: "text-bad" },
  applied: { icon: Check, look: "text-good" },
  ignored: { icon: CircleSlash, look: "text-warn" },
  waiting: { icon: Clock, look: "text-warn" },
  nothing: { icon: Minus, look: "text-muted" },
};

/** The inbox of this product, after `at` deliveries. */
export function PipelineSide({ run, at }: { run: Run; at: number }) {
  const side = run.steps[at - 1]?.pipeline ?? run.start;
  const before = run.steps[at - 2]?.pipeline ?? run.start;
  return (
    <Panel
      id="pipeline"
      title="Pipeline"
      about="Stores first, knows copies, undoes half-done work, and looks at when things happened."
    >
      <Standing side={side} before={at === 0 ? null : before} />
      {at === 0 ? (
        <p className="text-sm text-muted">{BEGIN}</p>
      ) : (
        <ol aria-label="What the pipeline did" className="flex flex-col gap-2 text-sm text-pretty">
          {pipelineDeeds(run, at - 1).map(({ kind, text }) => {
            const { icon: Icon, look } = MARKS[kind];
            return (
              <li key={kind} className="flex gap-2">
                <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${look}`} />
                {text}
              </li>
            );
          })}
        </ol>
      )}
    </Panel>
  );
}

function Standing({ side, before }: { side: Side; before: Side | null }) {
  return (
    <Figures>
      <Figure name="Plan">
        <Changed isNew={before !== null && before.planKey !== side.planKey}>{planName(side)}</Changed>
      </Figure>
      <Figure name="Balance">
        <Changed isNew={before !== null && before.balanceUnits !== side.balanceUnits}>
          {formatUnits(side.balanceUnits)}
        </Changed>
        <Difference units={before === null ? 0 : side.balanceUnits - before.balanceUnits} />
      </Figure>
    </Figures>
  );
}

function Changed({ isNew, children }: { isNew: boolean; children: ReactNode }) {
  return <span className={isNew ? "rounded bg-accent-soft px-1.5 py-0.5 text-accent" : ""}>{children}</span>;
}

function Difference({ units }: { units: number }) {
  if (units === 0) return null;
  return (
    <span className="ml-2 text-sm font-normal text-muted">
      {units > 0 ? "+" : "−"}
      {formatUnits(Math.abs(units))}
    </span>
  );
}
