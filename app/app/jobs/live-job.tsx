"use client";

import { useMutation } from "convex/react";
import { HeartPulse, Plus, Skull, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { api } from "../../../convex/_generated/api";
import type { JobView } from "../../../lib/gate/job-view.ts";
import { refusalText } from "../../../lib/gate/refusal-text.ts";
import type { Refusal } from "../../../lib/gate/types.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/dialog.tsx";
import { formatInstant, formatUnits } from "../../components/format.ts";
import { MeterBar } from "../../components/meter-bar.tsx";
import { Countdown } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { whyNotDone } from "./act-words.ts";
import { feedLines } from "./job-feed.ts";
import { JobStatus } from "./job-status.tsx";
import { useAdmission } from "./use-admission.ts";

const LINES_SHOWN = 6;

/** One job as it goes: its hold, its lease, and what happens to it. */
export function LiveJob(props: { job: JobView; isKilled: boolean; onKilled: () => void }) {
  const { job, isKilled } = props;
  const lines = useFeed(job);
  const isRunning = job.status === "running";
  const over = job.overCapUnits;
  return (
    <li className="flex min-w-0 flex-col gap-3 rounded-lg border border-line p-4 text-sm">
      <div className="flex items-center justify-between gap-3">
        <p className="min-w-0 truncate" title={job.key}>
          <span className="font-medium">{job.kind}</span>{" "}
          <span className="font-mono text-xs text-muted">{job.key}</span>
        </p>
        <span className="flex gap-1.5">
          {isKilled && isRunning && <Badge tone="bad">no worker</Badge>}
          <JobStatus status={job.status} />
        </span>
      </div>
      <MeterBar
        isSmall
        label={`${formatUnits(job.usedUnits)} of a hold of ${formatUnits(job.heldUnits)} used`}
        whole={job.heldUnits + over}
        parts={[
          { name: "used", units: job.usedUnits, look: "used" },
          { name: "held", units: isRunning ? job.heldUnits - job.usedUnits : 0, look: "held" },
          { name: "over", units: over, look: "over" },
        ]}
      />
      <p className="flex flex-wrap justify-between gap-x-4 text-muted tabular-nums">
        <span>
          <span className="text-ink">
            {formatUnits(job.usedUnits)} of {formatUnits(job.heldUnits)}
          </span>{" "}
          used; step {job.step}
          {job.runner !== null && ` of ${job.runner.steps}`}
        </span>
        {isRunning && (
          <span>
            lease: <Countdown untilMs={job.leaseExpiresAtMs} over="over, waits for the sweeper" />
          </span>
        )}
      </p>
      <ol className="flex min-h-20 flex-col gap-0.5 border-l-2 border-line pl-3 text-xs text-muted">
        {lines.slice(-LINES_SHOWN).map(({ id, text }) => (
          <li key={id} className="last:text-ink">
            {text}
          </li>
        ))}
      </ol>
      {isRunning && <Acts {...props} />}
    </li>
  );
}

function useFeed(job: JobView): readonly { readonly id: number; readonly text: string }[] {
  const before = useRef<JobView | null>(null);
  const [lines, setLines] = useState<readonly { id: number; text: string }[]>([]);
  useEffect(() => {
    const news = feedLines(before.current, job);
    before.current = job;
    if (news.length === 0) return;
    setLines((seen) => [...seen, ...news.map((text, index) => ({ id: seen.length + index, text }))]);
  }, [job]);
  return lines;
}

function refusalLine(refusal: Refusal): string {
  const { title, detail, next } = refusalText(refusal, formatInstant);
  return `${title}. ${detail} ${next}`;
}

function Acts({ job, isKilled, onKilled }: { job: JobView; isKilled: boolean; onKilled: () => void }) {
  const kill = useMutation(api.runner.kill);
  const heartbeat = useMutation(api.gate.heartbeat);
  const settle = useMutation(api.gate.settle);
  const { extend } = useAdmission();
  const [isAsking, setIsAsking] = useState(false);
  const { id: jobId, fence } = job;
  const moreUnits = Math.max(1, Math.ceil(job.requestedUnits / 2));

  async function tell(act: () => Promise<string | null>) {
    try {
      const fault = await act();
      if (fault !== null) toast.failed("Not done", fault);
    } catch {
      toast.failed("Not done", "No answer came. Try again.");
    }
  }

  const onKill = () =>
    tell(async () => {
      const answer = await kill({ jobId });
      if (answer.kind !== "killed") return whyNotDone(answer);
      onKilled();
      return null;
    });
  const onHeartbeat = () =>
    tell(async () => {
      const answer = await heartbeat({ jobId, fence });
      return answer.kind === "renewed" ? null : whyNotDone(answer);
    });
  const onExtend = () =>
    tell(async () => {
      const answer = await extend({ jobId, fence, units: moreUnits });
      if (answer.kind === "extended") return null;
      return answer.kind === "refused" ? refusalLine(answer.refusal) : whyNotDone(answer);
    });

  async function onCancel() {
    const answer = await settle({ jobId, outcome: "cancelled" });
    if (answer.kind === "refused") toast.failed("Not cancelled", refusalLine(answer.refusal));
    else if (answer.kind !== "settled") toast.failed("Not cancelled", whyNotDone(answer));
    else if (answer.job.status !== "cancelled") {
      toast.failed("Not cancelled", whyNotDone({ kind: "not_running", job: answer.job }));
    }
  }

  return (
    <div className="flex flex-wrap gap-2">
      {job.runner !== null && (
        <Button size="sm" look="danger" disabled={isKilled} onClick={() => void onKill()}>
          <Skull aria-hidden className="size-4" />
          {isKilled ? "Worker killed" : "Kill the worker"}
        </Button>
      )}
      <Button size="sm" onClick={() => void onHeartbeat()}>
        <HeartPulse aria-hidden className="size-4" />
        Heartbeat
      </Button>
      <Button size="sm" onClick={() => void onExtend()}>
        <Plus aria-hidden className="size-4" />
        Extend by {formatUnits(moreUnits)}
      </Button>
      <Button size="sm" look="ghost" onClick={() => setIsAsking(true)}>
        <X aria-hidden className="size-4" />
        Cancel
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title="Cancel this job?"
        confirm="Cancel the job"
        act={onCancel}
      >
        <p>
          {formatUnits(job.usedUnits)} tokens stay used; the rest of the hold comes back. A cancelled job
          cannot go on.
        </p>
      </ConfirmDialog>
    </div>
  );
}
