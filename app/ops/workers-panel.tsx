"use client";

import type { FunctionReturnType } from "convex/server";
import Link from "next/link";
import type { api } from "../../convex/_generated/api";
import { HOUR_MS, MINUTE_MS } from "../../lib/shared/durations.ts";
import {
  isTroubled,
  PERIODIC_WORKERS,
  type WorkerName,
  type WorkerState,
  workerState,
} from "../../lib/shared/periodic-workers.ts";
import { Badge } from "../components/badge.tsx";
import { linkClass } from "../components/button.tsx";
import { countOf, formatDuration } from "../components/format.ts";
import { Panel } from "../components/panel.tsx";
import { Loading } from "../components/states.tsx";
import { Ago } from "../components/time.tsx";
import { useNow } from "../components/use-now.ts";

type Run = FunctionReturnType<typeof api.health.forOperators>["runs"][number];

/** What each worker does, and what it means when it is late. */
const WORDS: Record<WorkerName, { does: string; late: string; href?: string }> = {
  sweeper: {
    does: "gives back the holds of jobs whose lease has ended",
    late: "units of dead workers stay held, and customers may be refused for it",
  },
  inbox: {
    does: "applies billing events",
    late: "plan changes and payments wait in the inbox",
    href: "/ops/inbox",
  },
  reporter: {
    does: "sends the ledger's totals to the provider's meters",
    late: "meters fall behind; nothing is lost, and the next run catches up",
    href: "/ops/reconciliation",
  },
  reminders: {
    does: "delivers reminders whose own delivery was lost",
    late: "a reminder may come late",
  },
  alerts: {
    does: "sends alerts again that did not arrive",
    late: "nobody may be told of a new review",
    href: "/ops/settings",
  },
  audit: {
    does: "recomputes used and held units from their rows",
    late: "a wrong balance would stay unnoticed",
    href: "/ops/audit",
  },
  drift: {
    does: "compares plans with the provider, for events that never came",
    late: "a plan change that no webhook told stays unknown",
    href: "/ops/drift",
  },
  reconciler: {
    does: "proves that meters show what the ledger says",
    late: "a wrong meter would stay unnoticed",
    href: "/ops/reconciliation",
  },
  retention: {
    does: "removes refusals, receipts and done events that are too old to be looked back at",
    late: "tables grow; nothing else depends on it",
  },
};

/** Each worker with the age of its last good run; red when that is too long ago. */
export function WorkersPanel({ runs }: { runs: readonly Run[] | undefined }) {
  const nowMs = useNow();
  return (
    <Panel
      id="workers"
      title="Workers"
      about="Late is when several runs were missed or failed, not when one was. A failed reconciliation is told at once: the next one by itself is a day away."
    >
      {runs === undefined || nowMs === null ? (
        <Loading what="the workers" rows={6} />
      ) : (
        <ul aria-label="Workers" className="grid gap-3 lg:grid-cols-2">
          {PERIODIC_WORKERS.map((worker) => {
            const run = runs.find(({ name }) => name === worker.name);
            const state = workerState(worker, run, nowMs);
            const { does, late, href } = WORDS[worker.name];
            return (
              <li
                key={worker.name}
                className={`flex flex-col gap-1.5 rounded-lg border p-4 text-sm ${isTroubled(state) ? "border-bad/40 bg-bad-soft" : "border-line"}`}
              >
                <div className="flex items-center justify-between gap-3">
                  <h3 className="font-semibold">
                    {href === undefined ? (
                      titleOf(worker.name)
                    ) : (
                      <Link href={href} prefetch={false} className={linkClass}>
                        {titleOf(worker.name)}
                      </Link>
                    )}
                  </h3>
                  <State state={state} run={run} />
                </div>
                <p className="text-muted">
                  {does}, {everyText(worker.everyMs)}
                </p>
                <p className={isTroubled(state) ? "font-medium text-bad" : ""}>
                  {run === undefined || run.lastGoodAtMs === null ? (
                    "no good run yet"
                  ) : (
                    <>
                      last good run <Ago ms={run.lastGoodAtMs} />
                    </>
                  )}
                  {run !== undefined && run.status !== "failed" && (
                    <span className="text-muted">{countsText(run.counts)}</span>
                  )}
                </p>
                {run?.status === "failed" && run.lastFinishedAtMs !== null && (
                  <p className="text-bad">
                    failed <Ago ms={run.lastFinishedAtMs} />
                    <span className="text-muted">{countsText(run.counts)}</span>
                  </p>
                )}
                {isTroubled(state) && <p>Meanwhile {late}.</p>}
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}

const titleOf = (name: string): string => `${name[0]?.toUpperCase() ?? ""}${name.slice(1)}`;

const EVERY: Readonly<Record<number, string>> = {
  [MINUTE_MS]: "every minute",
  [HOUR_MS]: "every hour",
  [24 * HOUR_MS]: "every night",
};

const everyText = (everyMs: number): string => EVERY[everyMs] ?? `every ${formatDuration(everyMs)}`;

function State({ state, run }: { state: WorkerState; run: Run | undefined }) {
  if (state === "late") return <Badge tone="bad">late</Badge>;
  if (state === "failed") return <Badge tone="bad">last run failed</Badge>;
  if (run?.status === "failed") return <Badge tone="warn">last run failed</Badge>;
  if (state === "waiting") return <Badge>waiting</Badge>;
  return <Badge tone="good">{run?.status === "running" ? "running" : "good"}</Badge>;
}

/** Counts whose names are things; one of them has another name. The others are what was done to them. */
const THINGS: Readonly<Record<string, readonly [string, string]>> = {
  accounts: ["account", "accounts"],
  batches: ["batch", "batches"],
  budgets: ["budget", "budgets"],
  errors: ["error", "errors"],
  evidence: ["piece of evidence", "pieces of evidence"],
  meters: ["meter", "meters"],
  rows: ["row", "rows"],
};

/** What was done, or found, where the name of the count is a code. */
const DONE: Readonly<Record<string, string>> = {
  match: "proven",
  kept_here: "with no meter at the provider",
  under_billed: "under-billed",
  over_billed: "over-billed",
  closed_cycle_drift: "closed with a difference",
  unmetered: "without an agreement",
};

const wordsOf = (name: string): readonly [string, string] => {
  const done = DONE[name] ?? name.replaceAll("_", " ");
  return THINGS[name] ?? [done, done];
};

/** What the last run counted; zeros are left out. */
function countsText(counts: Readonly<Record<string, number>>): string {
  const told = Object.entries(counts).filter(([, count]) => count > 0);
  if (told.length === 0) return "";
  return `: ${told.map(([name, count]) => countOf(count, ...wordsOf(name))).join(", ")}`;
}
