import type { Metadata } from "next";
import { PROBLEMS, type ProblemCode } from "../../../../lib/shared/problem.ts";
import { Code, Commands, Part, Text } from "../../text.tsx";
import { DocsHead } from "../docs-head.tsx";

export const metadata: Metadata = { title: "Errors" };

/** What a program does about each. */
const NEXT: Record<ProblemCode, string> = {
  invalid: "Change the request: errors names each field and its fault.",
  out_of_range: "Give a number within minimum and maximum of the answer.",
  unauthorized: "Send an API key that is not revoked, as a bearer token.",
  webhook_refused: "Only the provider's signed bodies are taken. Nothing was stored.",
  limit_reached: "Ask for less, take a larger plan, or wait for nextCycleStartMs.",
  held_by_running_jobs: "Wait: earliestLeaseExpiresAtMs says when the first hold comes back at the latest.",
  no_credits: "Wait for the next month, or take a larger plan.",
  payment_overdue: "Pay the invoice. Running jobs go on.",
  forbidden: "Use a key with the scope that the operation needs.",
  not_found: "Check the id. Rows of other accounts are not found either.",
  method_not_allowed: "The allow header names the methods of the path.",
  key_conflict:
    "Use a new key for a new request, or send the first one again unchanged: detail names each field that differs.",
  code_taken: "Choose another code, or none to get a free one.",
  lease_lost: "Stop working on the job: it was ended or another worker has it.",
  not_running: "Nothing to do: the job has ended. Its outcome is in the answer.",
  step_conflict: "Charge the step after the last one that was answered.",
  too_late: "It is due or delivered already and can no longer be changed.",
  event_running: "Try again in a moment.",
  review_conflict: "Read the review again: it was decided, or the decision does not fit its kind.",
  too_large: "Send a smaller body.",
  unsupported_encoding: "Send the body without a content encoding.",
  rate_limited: "Try again after the seconds of the retry-after header.",
  too_many_requests: "Too many wrong keys came from your address. Wait as the retry-after header says.",
  internal: "Try again with the same key; the log has the request id of the answer.",
  limit_unknown: "Try again after the seconds of the retry-after header; the provider could not be read.",
  busy: "Try again after a moment, with the same key.",
  unavailable: "Try again after a moment, with the same key.",
};

export default function ErrorsPage() {
  const codes = Object.entries(PROBLEMS) as [ProblemCode, { status: number; title: string }][];
  return (
    <>
      <DocsHead title="Errors">
        Every error is a problem document (RFC 9457). A program goes by its code; codes never change their
        meaning.
      </DocsHead>
      <Commands
        text={`HTTP/1.1 402 Payment Required
content-type: application/problem+json

{"type": "urn:holdfast:problem:held_by_running_jobs", "code": "held_by_running_jobs", "status": 402,
 "title": "Running jobs hold what is left of the limit", "detail": "…",
 "next": "Wait for one to end, or ask for at most 1,700.",
 "requestedUnits": 4000, "freeUnits": 1700, "limitUnits": 10000, "usedUnits": 300, "heldUnits": 8000, …}`}
      />
      <Text>
        With the same <Code>key</Code> a request may be sent again after any error or lost answer: it is done
        at most once.
      </Text>
      <Part id="codes" title="Codes">
        <dl className="flex flex-col divide-y divide-line">
          {codes.map(([code, { status, title }]) => (
            <div
              key={code}
              id={code}
              className="grid scroll-mt-6 gap-x-6 gap-y-1 py-3 sm:grid-cols-[14rem_1fr]"
            >
              <dt>
                <a href={`#${code}`} className="font-mono text-sm hover:underline">
                  {code}
                </a>{" "}
                <span className="text-sm text-muted tabular-nums">{status}</span>
              </dt>
              <dd>
                <p className="font-medium">{title}</p>
                <p className="text-sm text-muted">{NEXT[code]}</p>
              </dd>
            </div>
          ))}
        </dl>
      </Part>
    </>
  );
}
