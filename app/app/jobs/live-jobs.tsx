"use client";

import { useQuery } from "convex/react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import type { JobView } from "../../../lib/gate/job-view.ts";
import { RUNNING_LISTED_MAX } from "../../../lib/gate/running.ts";
import { Panel } from "../../components/panel.tsx";
import { useNow } from "../../components/use-now.ts";
import { LiveJob } from "./live-job.tsx";
import { useUsage } from "../use-usage.ts";

/** A job stays in sight for this long after its end, so that one can read how it ended. */
const ENDED_SHOWN_MS = 60_000;
const CARDS_MAX = 10;
export const NEWEST = { cursor: null, limit: CARDS_MAX };

/** Running jobs, and those that have just ended. */
export function LiveJobs() {
  const usage = useUsage();
  const newest = useQuery(api.gate.listJobs, NEWEST);
  const nowMs = useNow();
  const [openedAtMs] = useState(() => Date.now());
  // Whose worker was taken away here; the job itself cannot tell that apart from a slow one.
  const [killed, setKilled] = useState<ReadonlySet<string>>(new Set());
  if (usage === undefined || newest === undefined || nowMs === null) return null;

  // What ended before the screen was opened is in the list below.
  const sinceMs = Math.max(openedAtMs, nowMs - ENDED_SHOWN_MS);
  const ended = newest.jobs.filter(({ endedAtMs }) => endedAtMs !== null && endedAtMs >= sinceMs);
  // The newest may be missing from usage, which names no more jobs than it can.
  const named = new Set(usage.running.map(({ id }) => id));
  const isUnnamed = ({ id, status }: JobView): boolean => status === "running" && !named.has(id);
  const running = [...usage.running, ...newest.jobs.filter(isUnnamed)];
  const shown = [...running, ...ended]
    .toSorted((one, other) => other.startedAtMs - one.startedAtMs || (one.key < other.key ? -1 : 1))
    .slice(0, CARDS_MAX);
  if (shown.length === 0) return null;
  const more = running.length + ended.length - shown.length;
  const isCut = usage.running.length >= RUNNING_LISTED_MAX;
  return (
    <Panel
      id="live"
      title="At work"
      about="Live. A worker that is taken away charges nothing more; within 15 s after its lease the sweeper gives the hold back."
    >
      <ul className="grid gap-3 lg:grid-cols-2">
        {shown.map((job) => (
          <LiveJob
            key={job.id}
            job={job}
            isKilled={killed.has(job.id)}
            onKilled={() => setKilled((before) => new Set([...before, job.id]))}
          />
        ))}
      </ul>
      {more > 0 && <p className="text-sm text-muted">{isCut ? "Many" : more} more in the list below.</p>}
    </Panel>
  );
}
