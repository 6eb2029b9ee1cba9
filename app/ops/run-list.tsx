"use client";

import type { FunctionReturnType } from "convex/server";
import type { api } from "../../convex/_generated/api";
import { Badge } from "../components/badge.tsx";
import { formatDuration } from "../components/format.ts";
import { Instant } from "../components/time.tsx";

export type EndedRun = FunctionReturnType<typeof api.screensReconciliation.runs>["ended"][number];

/** How the last runs of a worker ended, the newest first. */
export function RunList(props: {
  runs: readonly EndedRun[];
  /** What a run found, and what it went through. */
  describe: (counts: EndedRun["counts"]) => { found: string; went: string };
}) {
  return (
    <ol aria-label="Last runs" className="flex flex-col divide-y divide-line text-sm">
      {props.runs.map(({ id, status, startedAtMs, finishedAtMs, counts }) => {
        const { found, went } = props.describe(counts);
        return (
          <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2.5 last:pb-0">
            <Badge tone={status === "good" ? "good" : "bad"}>{status}</Badge>
            <span>
              <Instant ms={finishedAtMs} />
            </span>
            <span className="min-w-0 flex-1 basis-80 text-muted">
              <span className="text-ink">{found}</span> · {went},{" "}
              <span className="whitespace-nowrap">{lasted(finishedAtMs - startedAtMs)}</span>
            </span>
          </li>
        );
      })}
    </ol>
  );
}

function lasted(ms: number): string {
  return ms < 1_000 ? "in under a second" : `in ${formatDuration(ms)}`;
}
