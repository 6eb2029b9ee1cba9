import type { JobView } from "../../../lib/gate/job-view.ts";
import { formatUnits } from "../../components/format.ts";

/** How the jobs of one press stand: they have started, and later they have ended. `asked`: how many were asked for. */
export function startedTitle(jobs: readonly JobView[], asked: number): string {
  const isOver = jobs.every(({ status }) => status !== "running");
  if (asked === 1) return isOver ? "Ended" : "Started";
  return `${jobs.length} of ${asked} started${isOver ? ", all have ended" : ""}`;
}

/** What the jobs of one press hold now: it stays beside them while they run and end. */
export function startedWords(jobs: readonly JobView[]): string {
  const running = jobs.filter(({ status }) => status === "running");
  const held = formatUnits(sumOf(running, ({ heldUnits }) => heldUnits));
  const isOne = jobs.length === 1;
  if (running.length === jobs.length) return `${held} tokens are held for ${isOne ? "it" : "them"}.`;
  if (running.length > 0) {
    const [run, them] = running.length === 1 ? ["runs", "it"] : ["run", "them"];
    return `${running.length} of ${jobs.length} still ${run}: ${held} tokens are held for ${them}.`;
  }
  const used = formatUnits(sumOf(jobs, ({ usedUnits }) => usedUnits));
  const returned = formatUnits(sumOf(jobs, ({ returnedUnits }) => returnedUnits));
  const ended = isOne ? "It has ended" : "All of them have ended";
  return `${ended}: ${used} tokens used, ${returned} came back, nothing is held any more.`;
}

function sumOf(jobs: readonly JobView[], units: (job: JobView) => number): number {
  return jobs.reduce((sum, job) => sum + units(job), 0);
}
