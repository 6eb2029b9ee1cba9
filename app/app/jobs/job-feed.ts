import type { JobView } from "../../../lib/gate/job-view.ts";
import { formatDuration, formatUnits } from "../../components/format.ts";

/** More steps than this between two sights share a line: nobody reads that many. */
const STEPS_TOLD_MAX = 20;

/** What happened between two sights of a job, in words. Null as the first: what it began with. */
export function feedLines(before: JobView | null, job: JobView): string[] {
  if (before === null) {
    const holds = `Holds ${formatUnits(job.heldUnits)}, lease ${formatDuration(job.leaseMs)}.`;
    return job.step === 0 ? [holds] : [holds, ...stepLines({ step: 0, usedUnits: 0 }, job)];
  }
  const lines: string[] = [];
  if (job.fence > before.fence) lines.push(`Another worker took over (fence ${job.fence}).`);
  if (job.heldUnits > before.heldUnits) {
    lines.push(
      `Extended by ${formatUnits(job.heldUnits - before.heldUnits)} to ${formatUnits(job.heldUnits)}.`,
    );
  }
  if (job.step > before.step) {
    lines.push(...stepLines(before, job));
  } else if (job.leaseExpiresAtMs > before.leaseExpiresAtMs) {
    lines.push(`Sign of life: the lease is renewed for ${formatDuration(job.leaseMs)}.`);
  }
  if (job.status !== before.status && job.status !== "running") lines.push(endLine(job));
  return lines;
}

interface Progress {
  readonly step: number;
  readonly usedUnits: number;
}

/** A line for each step, also when several came between two sights, where it is known what each of them took. */
function stepLines(before: Progress, job: JobView): string[] {
  const count = job.step - before.step;
  const chargedUnits = job.usedUnits - before.usedUnits;
  const stepUnits = count === 1 ? chargedUnits : unitsOfEach(count, chargedUnits, job);
  if (stepUnits === null) {
    return [stepLine(`Steps ${before.step + 1} to ${job.step}`, chargedUnits, job.usedUnits)];
  }
  return Array.from({ length: count }, (_, index) => {
    const usedBefore = before.usedUnits + index * stepUnits;
    const charged = Math.min(stepUnits, job.usedUnits - usedBefore);
    return stepLine(`Step ${before.step + index + 1}`, charged, usedBefore + charged);
  });
}

/**
 * The steps of the runner here take the same each, but for a last one that the hold capped. Null where the sum says
 * otherwise, as when a worker of one's own has taken over, and for more steps than one would read.
 */
function unitsOfEach(count: number, chargedUnits: number, { runner, status }: JobView): number | null {
  if (runner === null || count > STEPS_TOLD_MAX) return null;
  const { stepUnits } = runner;
  const isWhole = chargedUnits === count * stepUnits;
  const isCapped =
    status === "capped" && chargedUnits >= (count - 1) * stepUnits && chargedUnits < count * stepUnits;
  return isWhole || isCapped ? stepUnits : null;
}

function stepLine(which: string, chargedUnits: number, usedUnits: number): string {
  return `${which}: charged ${formatUnits(chargedUnits)}, ${formatUnits(usedUnits)} in all. Lease renewed.`;
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
