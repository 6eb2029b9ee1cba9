"use client";

import { useMutation } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { BellPlus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api } from "../../../convex/_generated/api";
import { REMINDER_TEXT_MAX } from "../../../lib/inbox/reminders.ts";
import { Button, ButtonLink } from "../../components/button.tsx";
import { ChoiceField, TextAreaField, TextField } from "../../components/field.tsx";
import { formatInstant, formatUnits } from "../../components/format.ts";
import { Notice } from "../../components/notice.tsx";
import { Panel } from "../../components/panel.tsx";
import { Instant, ZoneName } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { useNow } from "../../components/use-now.ts";
import { DUE_CHOICES, type DueChoice, dueAt } from "./due-choices.ts";
import { useCredits } from "./use-credits.ts";

type Refusal = Extract<FunctionReturnType<typeof api.reminders.create>, { kind: "refused" }>;
type Faults = Readonly<Record<string, string>>;

const TIME_FAULT = "Choose a time between a second and 366 days from now.";

/** Writes a reminder. What is wrong with a field is said below it; a month without credits is said above the button. */
export function ReminderForm() {
  const create = useMutation(api.reminders.create);
  const balance = useCredits();
  const nowMs = useNow();
  const [text, setText] = useState("");
  const [choice, setChoice] = useState<DueChoice>("hour");
  const [own, setOwn] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [faults, setFaults] = useState<Faults>({});
  const [refusal, setRefusal] = useState<Refusal | null>(null);

  async function send(): Promise<Faults> {
    const dueAtMs = dueAt(choice, own, Date.now());
    if (Number.isNaN(dueAtMs)) return { dueAtMs: "Choose a day and a time." };
    const answer = await create({ key: `screen-${crypto.randomUUID()}`, text: text.trim(), dueAtMs });
    switch (answer.kind) {
      case "created":
        toast.done("The reminder is set", `It comes ${formatInstant(dueAtMs)} and cost 1 credit.`);
        setText("");
        setRefusal(null);
        return {};
      case "refused":
        setRefusal(answer);
        return {};
      case "key_conflict":
        return { text: "It was not written. Press again." };
      case "invalid":
        return Object.fromEntries(
          answer.errors.map(({ path, message }) =>
            path === "dueAtMs" ? [path, TIME_FAULT] : ["text", sentence(message)],
          ),
        );
    }
  }

  async function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    setIsBusy(true);
    try {
      setFaults(await send());
    } catch {
      setFaults({ text: "No answer came. Try again." });
    } finally {
      setIsBusy(false);
    }
  }

  const shownMs = nowMs === null ? Number.NaN : dueAt(choice, own, nowMs);
  return (
    <Panel id="new-reminder" title="New reminder">
      <form className="flex flex-col gap-4" onSubmit={(event) => void onSubmit(event)} noValidate>
        <TextAreaField
          label="Message"
          required
          maxLength={REMINDER_TEXT_MAX}
          placeholder="Compare the estimates with the real cost"
          value={text}
          onChange={(event) => setText(event.target.value)}
          error={faults["text"]}
        />
        <ChoiceField label="When" name="due" options={DUE_CHOICES} value={choice} onChange={setChoice} />
        {choice === "own" && (
          <TextField
            label="Day and time"
            type="datetime-local"
            className="max-w-72"
            value={own}
            onChange={(event) => setOwn(event.target.value)}
            error={faults["dueAtMs"]}
          />
        )}
        <div role="status" className="empty:hidden">
          {/* Old news once a credit has come back. */}
          {refusal !== null && balance?.leftUnits === 0 && <NoCredits refusal={refusal} />}
        </div>
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <Button type="submit" look="primary" isBusy={isBusy}>
            <BellPlus aria-hidden className="size-4" />
            Set the reminder
          </Button>
          <p className="text-sm text-muted">
            Costs 1 credit.
            {!Number.isNaN(shownMs) && (
              <>
                {" "}
                Comes <Instant ms={shownMs} /> (<ZoneName />
                ).
              </>
            )}
          </p>
        </div>
      </form>
    </Panel>
  );
}

function NoCredits({ refusal: { balanceUnits, allowanceUnits, nextPeriodStartMs } }: { refusal: Refusal }) {
  return (
    <Notice
      tone="warn"
      title="No credit is left this month"
      next={
        <div className="flex flex-col items-start gap-2">
          <span>
            New credits come on <Instant ms={nextPeriodStartMs} />. Sooner: cancel a reminder that is still to
            come, which gives its credit back, or take a larger plan.
          </span>
          <ButtonLink href="/app/plan" size="sm">
            See the plans
          </ButtonLink>
        </div>
      }
    >
      It costs 1 credit; {formatUnits(balanceUnits)} of {formatUnits(allowanceUnits)} are left. Nothing was
      written.
    </Notice>
  );
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
