import type { JobView } from "../../../lib/gate/job-view.ts";

/** The answers of a job's mutations that mean: nothing was done. */
export type NotDone =
  | { readonly kind: "not_found" }
  | { readonly kind: "lease_lost" | "not_running"; readonly job: JobView };

/** Why an act on a job was not done. A job that is running and has no worker here is one of the API's, or killed. */
export function whyNotDone(answer: NotDone): string {
  if (answer.kind === "not_found") return "The job is not there any more.";
  const { status, fence } = answer.job;
  if (status === "expired") return "Its lease had ended without a sign of life; the hold has come back.";
  if (status !== "running") return `The job had ended: ${status}.`;
  return answer.kind === "lease_lost"
    ? `Another worker has taken the job over (fence ${fence}).`
    : "No worker here runs this job.";
}
