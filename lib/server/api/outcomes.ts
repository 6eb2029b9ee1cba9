import { refusalText } from "../../gate/refusal-text.ts";
import { unreachable } from "../../shared/assert.ts";
import type { z } from "zod";
import type { PlainResponse } from "../http.ts";
import { problemResponse } from "./answers.ts";
import type { job, refusal } from "./answer-schemas.ts";

type Refusal = z.output<typeof refusal>;
type Job = z.output<typeof job>;

/** The answer to a refused admission, extension, charge or settle: status by code, what to do next, the numbers as members. */
export function refusalResponse(refused: Refusal): PlainResponse {
  // The message of a refusal becomes the detail or an error with its path; the rest are its numbers.
  const { code, message: _message, ...numbers } = { message: "", ...refused };
  const retryAfter = "retryAfterMs" in refused ? { retryAfterMs: refused.retryAfterMs } : {};
  const errors =
    refused.code === "out_of_range" ? { errors: [{ path: refused.field, message: refused.message }] } : {};
  const { next } = refusalText(refused, (instantMs) => new Date(instantMs).toISOString());
  return problemResponse(code, refusalDetail(refused), {
    extra: { ...numbers, next },
    ...retryAfter,
    ...errors,
  });
}

function refusalDetail(refused: Refusal): string {
  switch (refused.code) {
    case "limit_reached":
      return `${refused.requestedUnits} units do not fit: ${refused.usedUnits} used and ${refused.heldUnits} held of ${refused.limitUnits}.`;
    case "held_by_running_jobs":
      return `${refused.requestedUnits} units would fit once running jobs return part of the ${refused.heldUnits} units that they hold.`;
    case "limit_unknown":
      return "The limit of this account could not be read and no recent one is known. Try again later.";
    case "rate_limited":
      return `This account may start ${refused.limitPerMinute} jobs a minute.`;
    case "payment_overdue":
      return "An invoice of this account is overdue. New jobs start again once it is paid; running ones go on.";
    case "out_of_range":
      return `${refused.field}: ${refused.message}`;
    case "key_conflict":
      return refused.message;
    default:
      return unreachable(refused);
  }
}

type JobFault =
  | { kind: "not_found" }
  | { kind: "lease_lost"; job: Job }
  | { kind: "not_running"; job: Job }
  | { kind: "step_conflict"; job: Job; expectedStep: number };

/** The answer when a job is not there, has moved on without the caller, or expects another step. */
export function jobFaultResponse(fault: JobFault): PlainResponse {
  switch (fault.kind) {
    case "not_found":
      return problemResponse("not_found", "This account has no such job.");
    case "lease_lost":
      return problemResponse(
        "lease_lost",
        fault.job.status === "running"
          ? "Another worker has taken the job over. Stop working on it."
          : `The lease ended and the job was settled as ${fault.job.status}. Stop working on it.`,
        { extra: { job: fault.job } },
      );
    case "not_running":
      return problemResponse(
        "not_running",
        // Only a kill answers this for a job that goes on: a worker over HTTP is nothing that could be killed here.
        fault.job.status === "running"
          ? "No step runner is at work on this job."
          : `The job has ended as ${fault.job.status}.`,
        { extra: { job: fault.job } },
      );
    case "step_conflict":
      return problemResponse("step_conflict", `The next step of this job is ${fault.expectedStep}.`, {
        extra: { job: fault.job, expectedStep: fault.expectedStep },
      });
    default:
      return unreachable(fault);
  }
}
