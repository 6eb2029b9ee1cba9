/** What to do and where to look once a fault is on: a switch alone shows nothing. */

export interface NextStep {
  readonly text: string;
  /** In the order in which the text names them. */
  readonly links: readonly { readonly href: string; readonly name: string }[];
}

const JOBS = { href: "/app/jobs", name: "Start a job" };
const USAGE = { href: "/app", name: "Look at the limit" };
const PLAN = { href: "/app/plan", name: "Change the plan" };
const RECONCILIATION = { href: "/ops/reconciliation", name: "Run a reconciliation" };
const WORKERS = { href: "/ops", name: "Look at the workers" };
const INBOX = { href: "/ops/inbox", name: "Look at the inbox" };
const DRIFT = { href: "/ops/drift", name: "Compare the plans" };

/** By the id of the offer (lib/kinde/fault-offers.ts). */
export const NEXT_STEPS: Readonly<Record<string, NextStep>> = {
  second_writer: {
    text: "Run a job to its end, so that its total is sent. The reconciliation then finds 7 more at the meter, writes the ledger's total and reads it back.",
    links: [JOBS, RECONCILIATION],
  },
  lost_reply: {
    text: "Run a job to its end, so that its total is sent. The reconciliation then reads the meter: it has the total once.",
    links: [JOBS, RECONCILIATION],
  },
  late_write: {
    text: "Run a job to its end and wait 20 seconds for its write to land. The reconciliation then finds meter and ledger equal.",
    links: [JOBS, RECONCILIATION],
  },
  write_refused: {
    text: "Run a job to its end. Its report is tried again and waits longer each time; once writes work, the reconciliation finds nothing missing.",
    links: [JOBS, WORKERS, RECONCILIATION],
  },
  write_limited: {
    text: "Run a job to its end. Its report waits as long as Kinde said; then the reconciliation finds nothing missing.",
    links: [JOBS, WORKERS, RECONCILIATION],
  },
  read_refused: {
    text: "Run a reconciliation: its result says which meters could not be read. Switch the fault off and run it again.",
    links: [RECONCILIATION],
  },
  limits_down: {
    text: "Read the limit anew on the usage screen: that fails, and jobs still start by the last limit until it is ten minutes old.",
    links: [USAGE, JOBS],
  },
  limits_slow: {
    text: "Start five jobs at once when the limit is over a minute old: one waits three seconds for the new limit, the others start by the last one.",
    links: [JOBS],
  },
  limits_cut: {
    text: "Read the limit anew on the usage screen: half an answer counts as none, and the last limit stays in use.",
    links: [USAGE, JOBS],
  },
  webhook_loss: {
    text: "Change the plan: its event never comes. For ten minutes after the last event an event may still be on its way; then compare the plans twice, five minutes apart, or wait for the hourly check: the difference is found and repaired.",
    links: [PLAN, DRIFT],
  },
  webhook_duplicate: {
    text: "Change the plan. The inbox has its event once, with three deliveries.",
    links: [PLAN, INBOX],
  },
  webhook_reorder: {
    text: "Change the plan twice within 15 seconds. Whichever event comes last, the plan is the one that was chosen last.",
    links: [PLAN, INBOX],
  },
  webhook_delay: {
    text: "Change the plan. Its event is in the inbox 15 seconds later, with the time at which it happened.",
    links: [PLAN, INBOX],
  },
  webhook_outage: {
    text: "Change the plan, then switch the fault off. The event is delivered by a later attempt, after 5 s, 30 s, 2 min or more.",
    links: [PLAN, INBOX],
  },
  webhook_bad_signature: {
    text: "Change the plan. The inbox stores nothing of what was signed wrongly; a later attempt, signed well, is stored.",
    links: [PLAN, INBOX],
  },
  webhook_key_rotation: {
    text: "Change the plan. The inbox has the event; its delivery names the new key.",
    links: [PLAN, INBOX],
  },
};
