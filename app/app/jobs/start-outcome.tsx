"use client";

import { useQueries } from "convex/react";
import { useMemo } from "react";
import { api } from "../../../convex/_generated/api";
import type { JobView } from "../../../lib/gate/job-view.ts";
import { refusalText } from "../../../lib/gate/refusal-text.ts";
import { ButtonLink } from "../../components/button.tsx";
import { formatInstant } from "../../components/format.ts";
import { Notice } from "../../components/notice.tsx";
import { HeldNext } from "./held-next.tsx";
import { startedTitle, startedWords } from "./started-words.ts";
import type { Admission } from "./use-admission.ts";

export type Outcome = Admission | { readonly kind: "broken" };

/** What came of the last press: how many started, and for the others what happened, the numbers, and what to do. */
export function StartOutcome({ outcomes }: { outcomes: readonly Outcome[] }) {
  const started = outcomes.filter((outcome) => outcome.kind === "admitted");
  const refused = outcomes.filter((outcome) => outcome.kind === "refused");
  const broken = outcomes.filter((outcome) => outcome.kind === "broken");
  // Those that were refused for the same reason saw other numbers each; the last saw them all.
  const byCode = new Map(refused.map(({ refusal }) => [refusal.code, refusal]));
  return (
    <div role="status" className="flex flex-col gap-2 empty:hidden">
      {started.length > 0 && <StartedJobs jobs={started.map(({ job }) => job)} asked={outcomes.length} />}
      {[...byCode.values()].map((refusal) => {
        const { title, detail, next } = refusalText(refusal, formatInstant);
        const count = refused.filter((outcome) => outcome.refusal.code === refusal.code).length;
        return (
          <Notice
            key={refusal.code}
            tone={refusal.code === "held_by_running_jobs" ? "warn" : "bad"}
            title={
              outcomes.length === 1 ? title : `${count} of ${outcomes.length} refused: ${title.toLowerCase()}`
            }
            next={
              <div className="flex flex-col items-start gap-2">
                <span>{refusal.code === "held_by_running_jobs" ? <HeldNext next={next} /> : next}</span>
                {refusal.code === "limit_reached" && (
                  <ButtonLink href="/app/plan" size="sm">
                    See the plans
                  </ButtonLink>
                )}
              </div>
            }
          >
            {detail}
          </Notice>
        );
      })}
      {broken.length > 0 && (
        <Notice
          tone="bad"
          title={broken.length === 1 ? "No answer came" : `No answer came for ${broken.length}`}
          next="Press again: the same jobs are asked for, so none can start twice."
        />
      )}
    </div>
  );
}

/** The jobs of the press as they are now. */
function StartedJobs({ jobs, asked: count }: { jobs: readonly JobView[]; asked: number }) {
  const ids = jobs.map(({ id }) => id).join(" ");
  const asked = useMemo(
    () =>
      Object.fromEntries(
        ids.split(" ").map((jobId) => [jobId, { query: api.gate.getJob, args: { jobId } }] as const),
      ),
    [ids],
  );
  const answers: Record<string, JobView | Error | null | undefined> = useQueries(asked);
  const current = jobs.map((job) => {
    const now = answers[job.id];
    return now == null || now instanceof Error ? job : now;
  });
  return (
    <Notice tone="good" title={startedTitle(current, count)}>
      {startedWords(current)}
    </Notice>
  );
}
