import type { JobView } from "../../../lib/gate/job-view.ts";
import { formatDuration, formatUnits } from "../../components/format.ts";

/** What happened between two sights of a job, in words. Null as the first: what it began with. */
export function feedLines(before: JobView | null, job: JobView): string[] {
  if (before === null) {
    const seen = job.step === 0 ? "" : ` Step ${job.step} is done, ${formatUnits(job.usedUnits)} used.`;
    return [`Holds ${formatUnits(job.heldUnits)}, lease ${formatDuration(job.leaseMs)}.${seen}`];
  }
  const lines: string[] = [];
  if (job.fence > before.fence) lines.push(`Another worker took over (fence ${job.fence}).`);
  if (job.heldUnits > before.heldUnits) {
    lines.push(
      `Extended by ${formatUnits(job.heldUnits - before.heldUnits)} to ${formatUnits(job.heldUnits)}.`,
    );
  }
  if (job.step > before.step) {
    lines.push(
      `Step ${job.step}: charged ${formatUnits(job.usedUnits - before.usedUnits)}, ${formatUnits(job.usedUnits)} in all. Lease renewed.`,
    );
  } else if (job.leaseExpiresAtMs > before.leaseExpiresAtMs) {
    lines.push(`Sign of life: the lease is renewed for ${formatDuration(job.leaseMs)}.`);
  }
  if (job.status !== before.status && job.status !== "running") lines.push(endLine(job));
  return lines;
}

function endLine({ status, usedUnits, returnedUnits, overCapUnits }: JobView): string {
  const sums = `${formatUnits(usedUnits)} used, ${formatUnits(returnedUnits)} returned.`;
  switch (status) {
    case "capped":
      return `Capped: the step wanted ${formatUnits(overCapUnits)} more than the hold had left. ${sums}`;
    case "expired":
      return `The lease ended without a sign of life; the hold came back. ${sums}`;
    case "failed":
      return `Failed. ${sums}`;
    case "cancelled":
      return `Cancelled. ${sums}`;
    default:
      return `Completed. ${sums}`;
  }
}
