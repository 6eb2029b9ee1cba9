"use client";

import { useAction, useMutation } from "convex/react";
import { type FormEvent, type ReactNode, useState } from "react";
import { api } from "../../../../convex/_generated/api";
import { JOBS_PER_MINUTE_MAX } from "../../../../lib/gate/rate.ts";
import { Button } from "../../../components/button.tsx";
import { TextField } from "../../../components/field.tsx";
import { formatUnits } from "../../../components/format.ts";
import { Panel } from "../../../components/panel.tsx";
import { toast } from "../../../components/toast.tsx";
import type { AccountView } from "./detail-screen.tsx";

/** What an operator can do for one account. Changes are written to the audit. */
export function ActsPanel({ account }: { account: AccountView }) {
  const isAtProvider = account.provider === "kinde";
  return (
    <Panel id="acts" title="What you can do">
      <ul className="flex flex-col divide-y divide-line">
        <ReadLimit account={account} />
        {isAtProvider && <CheckPlan account={account} />}
        {!isAtProvider && <SetLimit account={account} />}
        <SetRate account={account} />
      </ul>
    </Panel>
  );
}

function Act({ title, about, children }: { title: string; about: string; children: ReactNode }) {
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 py-4 first:pt-0 last:pb-0">
      <div className="flex min-w-0 flex-1 basis-72 flex-col gap-0.5 text-sm">
        <h3 className="font-medium">{title}</h3>
        <p className="text-muted">{about}</p>
      </div>
      {children}
    </li>
  );
}

function ReadLimit({ account: { id } }: { account: AccountView }) {
  const readLimit = useAction(api.screensAccounts.readLimit);
  const [isBusy, setIsBusy] = useState(false);

  async function onRead() {
    setIsBusy(true);
    try {
      const { kind } = await readLimit({ accountId: id });
      if (kind === "refreshed") toast.done("The limit was read again");
      else if (kind === "not_found") toast.failed("The limit could not be read", GONE);
      else
        toast.failed(
          "The limit could not be read",
          "The provider did not answer, or it is being read just now.",
        );
    } catch {
      toast.failed("The limit could not be read", "No answer came. Try again.");
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <Act title="Read the limit again" about="Asks the provider now, rather than when the next job needs it.">
      <Button size="sm" isBusy={isBusy} onClick={() => void onRead()}>
        Read the limit
      </Button>
    </Act>
  );
}

/** What an operator is told when the account went away under an open screen. */
const GONE = "There is no such account any more.";

const OUTCOMES = {
  same: "The plan is the provider's",
  sighted: "A difference was seen; it is read again in five minutes",
  waiting: "A difference waits for its event or second reading",
  repaired: "The plan was repaired",
  skipped: "This account is not at the provider",
  unclear: "The provider contradicts itself; try again later",
  gone: "The provider does not know this customer any more",
  failed: "The provider could not be read",
} as const;
const NOT_COMPARED: ReadonlySet<keyof typeof OUTCOMES> = new Set(["skipped", "unclear", "gone", "failed"]);

function CheckPlan({ account: { id } }: { account: AccountView }) {
  const check = useAction(api.drift.check);
  const [isBusy, setIsBusy] = useState(false);

  async function onCheck() {
    setIsBusy(true);
    try {
      const answer = await check({ accountId: id });
      const outcome = answer.kind === "ran" ? answer.accounts[0] : undefined;
      if (outcome === undefined) {
        toast.failed("The plan could not be compared", GONE);
        return;
      }
      const tell = NOT_COMPARED.has(outcome.outcome) ? toast.failed : toast.done;
      tell(OUTCOMES[outcome.outcome], outcome.error ?? undefined);
    } catch {
      toast.failed("The plan could not be compared", "No answer came. Try again.");
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <Act
      title="Compare the plan"
      about="Reads plan and agreements from the provider, for webhooks that may have been missed."
    >
      <Button size="sm" isBusy={isBusy} onClick={() => void onCheck()}>
        Compare
      </Button>
    </Act>
  );
}

function SetLimit({ account: { id, limit } }: { account: AccountView }) {
  const setLimit = useMutation(api.accounts.setLimit);
  return (
    <NumberAct
      title="Set the limit"
      about="Tokens of a cycle. It counts from the next job on; what is used and held stays."
      label="Tokens"
      now={limit?.limitUnits ?? null}
      maximum={Number.MAX_SAFE_INTEGER}
      act={async (limitUnits) => {
        const { kind } = await setLimit({ accountId: id, limitUnits });
        if (kind === "set") toast.done(`The limit is ${formatUnits(limitUnits)}`);
        else toast.failed("It was not set", GONE);
      }}
    />
  );
}

function SetRate({ account: { id, jobsPerMinute } }: { account: AccountView }) {
  const setRate = useMutation(api.accounts.setRate);
  return (
    <NumberAct
      title="Set the job rate"
      about="How many new jobs may start in a minute. The minute that is open goes on."
      label="Jobs a minute"
      now={jobsPerMinute}
      maximum={JOBS_PER_MINUTE_MAX}
      act={async (rate) => {
        const { kind } = await setRate({ accountId: id, jobsPerMinute: rate });
        if (kind === "set") toast.done(`${formatUnits(rate)} new jobs a minute`);
        else toast.failed("It was not set", GONE);
      }}
    />
  );
}

function NumberAct(props: {
  title: string;
  about: string;
  label: string;
  now: number | null;
  maximum: number;
  act: (value: number) => Promise<void>;
}) {
  const [text, setText] = useState(props.now === null ? "" : String(props.now));
  const [isBusy, setIsBusy] = useState(false);
  const value = Number(text);
  const isFit = text.trim() !== "" && Number.isSafeInteger(value) && value >= 0 && value <= props.maximum;

  async function onSubmit(event: FormEvent) {
    event.preventDefault();
    if (!isFit) return;
    setIsBusy(true);
    try {
      await props.act(value);
    } catch {
      toast.failed("It was not set", "No answer came. Try again.");
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <Act title={props.title} about={props.about}>
      <form onSubmit={(event) => void onSubmit(event)} className="flex items-end gap-2">
        <TextField
          hideLabel
          label={props.label}
          type="number"
          min={0}
          max={props.maximum}
          step={1}
          value={text}
          onChange={(event) => setText(event.target.value)}
          className="w-32"
        />
        <Button type="submit" isBusy={isBusy} disabled={!isFit || value === props.now}>
          Set
        </Button>
      </form>
    </Act>
  );
}
