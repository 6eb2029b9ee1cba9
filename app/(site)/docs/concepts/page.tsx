import type { Metadata } from "next";
import { Part, Terms, Text } from "../../text.tsx";
import { DocsHead } from "../docs-head.tsx";
import { JobLife } from "./job-life.tsx";

export const metadata: Metadata = { title: "Concepts" };

export default function ConceptsPage() {
  return (
    <>
      <DocsHead title="Concepts">The words of the screens and the API, each with one meaning.</DocsHead>
      <Part id="gate" title="The gate: holds">
        <Text>
          A plain check reads what was used, lets the job run and counts at the end. Jobs that run at the same
          time are in nobody&apos;s count, so together they spend more than the limit. The gate counts a job
          before it starts.
        </Text>
        <JobLife />
        <Terms
          terms={[
            [
              "hold",
              "the part of the limit that is set aside for a running job: nobody else can start with it",
            ],
            [
              "charge",
              "takes units out of the hold, step by step; never more than the hold, then the job is capped",
            ],
            ["settle", "the end of a job: what it used is booked, the rest of the hold is free again"],
            ["lease", "how long a job may stay silent. A worker that dies renews it no more"],
            ["sweeper", "ends jobs whose lease has run out, within 15 seconds, and gives their holds back"],
            ["fence", "the number of the worker that has the job; one that was replaced is refused"],
            [
              "used, held",
              "what ended jobs have used; what running jobs hold, with what they spent so far in it",
            ],
            ["free", "limit less used less held: what a new job may hold"],
            [
              "limitState",
              "known: the limit is a number; unlimited: the plan has none; unknown: nobody has read it in the last ten minutes, and the next job does",
            ],
          ]}
        />
        <Text>
          Refused because your own running jobs hold the room is not the same as a used-up limit: the first
          ends when one of them ends, the second at the reset or with a larger plan. The answer says which,
          with the numbers.
        </Text>
      </Part>
      <Part id="ledger" title="The ledger: meters">
        <Terms
          terms={[
            [
              "entry",
              "one row for each settled job and each click, billed or not, with the reason. It never changes",
            ],
            [
              "class",
              "why a click is billed or not: billable, program, prefetch, HEAD, inactive link, over the cap",
            ],
            ["correction", "a row of its own that adds or takes away; nothing is edited"],
            ["meter", "the total at the billing provider. Invoices are made from it"],
            ["report", "writes the ledger's total as the meter's total, so a second report changes nothing"],
            [
              "reconciliation",
              "reads each meter, compares it with the ledger, writes over what differs and reads it back",
            ],
            ["evidence", "what each reconciliation read, decided, wrote and read back"],
            ["review", "what no rule may decide alone waits here for a person"],
          ]}
        />
      </Part>
      <Part id="inbox" title="The inbox: billing events">
        <Text>
          The provider sends an event for each plan change, payment and cancellation: at least once, in any
          order, for up to 36 hours. Each is verified, stored, answered, and then applied.
        </Text>
        <Terms
          terms={[
            ["event", "what happened at the provider, with the time at which it happened"],
            ["copy", "the same event again: counted and kept as a receipt, applied no second time"],
            ["receipt", "one row for each delivery"],
            ["applied", "all effects and the mark that it is done, in one transaction"],
            [
              "ignored",
              "stored and without effect, with the reason: an older event that a newer one has overtaken",
            ],
            ["quarantined", "arrived too far from its own time; only an operator's replay makes it due"],
            ["dead letter", "six attempts failed. A person is told, and can replay it"],
            [
              "replay",
              "applies a stored event again through the same rules; one that was applied changes nothing",
            ],
            [
              "drift check",
              "compares each customer with the provider every hour, for events that never came",
            ],
          ]}
        />
      </Part>
    </>
  );
}
