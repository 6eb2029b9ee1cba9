import type { JobView } from "../../../lib/gate/job-view.ts";
import { Badge, type Tone } from "../../components/badge.tsx";

const TONES: Record<JobView["status"], Tone> = {
  running: "accent",
  completed: "good",
  failed: "bad",
  cancelled: "neutral",
  capped: "warn",
  expired: "warn",
};

export const JOB_STATUSES = Object.keys(TONES) as JobView["status"][];

export function JobStatus({ status }: { status: JobView["status"] }) {
  return <Badge tone={TONES[status]}>{status}</Badge>;
}
