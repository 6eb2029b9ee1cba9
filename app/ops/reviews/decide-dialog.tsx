"use client";

import { useMutation } from "convex/react";
import { useId, useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Button } from "../../components/button.tsx";
import { Dialog, DialogActions } from "../../components/dialog.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { formatUnits } from "../../components/format.ts";
import { toast } from "../../components/toast.tsx";
import { consequenceOf, type Decision, DECISIONS, kindOf, type ReviewView } from "./words.ts";

const LATE: readonly Decision[] = ["carry_over", "write_off", "accept"];

/** Asks for a decision, says what it will do, and does it. */
export function DecideDialog(props: { review: ReviewView; isOpen: boolean; onClose: () => void }) {
  const { review, isOpen, onClose } = props;
  const { late } = review;
  const decide = useMutation(api.reviews.decide);
  const [decision, setDecision] = useState<Decision | null>(late === null ? "accept" : null);
  const [billed, setBilled] = useState("");
  const [note, setNote] = useState("");
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setIsBusy] = useState(false);

  const mustSayBilled = late !== null && late.maybeSentUnits !== null;
  const billedUnits = mustSayBilled && billed === "" ? null : Number(billed || (late?.sentUnits ?? 0));
  const missing =
    decision === null
      ? "Choose what becomes of it."
      : mustSayBilled && billedUnits === null
        ? "Say what the closed meter was billed as: the provider knows."
        : late === null && note.trim() === ""
          ? "Write down what was done about it."
          : null;

  async function onDecide() {
    setFault(missing);
    if (missing !== null || decision === null) return;
    setIsBusy(true);
    try {
      const said = note.trim() === "" ? {} : { note: note.trim() };
      const amount = mustSayBilled && billedUnits !== null ? { billedUnits } : {};
      const answer = await decide({ reviewId: review.id, decision, ...said, ...amount });
      if (answer.kind === "refused") return setFault(`Not done: ${answer.message}`);
      if (answer.kind === "not_found") return setFault("Not done: the review is not there any more.");
      toast.done(DECISIONS[decision].done, `${kindOf(review.kind).name}: signed and in the audit.`);
      onClose();
    } catch {
      setFault("It was not done: no answer came. Try again.");
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={kindOf(review.kind).name} description={review.detail}>
      {late !== null && (
        <>
          {mustSayBilled && (
            <SelectField
              label="What was the closed meter billed as?"
              hint="The last write had no answer, so only the provider knows whether it counted."
              value={billed}
              onChange={(event) => setBilled(event.target.value)}
            >
              <option value="">Look it up at the provider…</option>
              <option value={late.sentUnits}>{formatUnits(late.sentUnits)}, the last one confirmed</option>
              <option value={late.maybeSentUnits ?? 0}>
                {formatUnits(late.maybeSentUnits ?? 0)}, the one without an answer
              </option>
            </SelectField>
          )}
          <Choices
            decision={decision}
            onChoose={setDecision}
            consequence={(one) =>
              billedUnits === null
                ? "Say first what was billed."
                : consequenceOf(one, late.ledgerUnits, billedUnits)
            }
          />
        </>
      )}
      {late === null && (
        <p className="text-sm">
          Signing says that you have seen it and what you did about it. Nothing is booked, and nothing is
          changed at the provider. Should it happen again, a new review is opened.
        </p>
      )}
      <TextField
        label={late === null ? "What was done about it" : "Note (optional)"}
        value={note}
        maxLength={2_000}
        onChange={(event) => setNote(event.target.value)}
      />
      <p role="alert" className="text-sm text-bad empty:hidden">
        {fault}
      </p>
      <DialogActions>
        <Button onClick={onClose} disabled={isBusy}>
          Decide later
        </Button>
        <Button look="primary" isBusy={isBusy} onClick={() => void onDecide()}>
          {decision === null ? "Decide" : late === null ? "Sign" : DECISIONS[decision].name}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function Choices(props: {
  decision: Decision | null;
  onChoose: (decision: Decision) => void;
  consequence: (decision: Decision) => string;
}) {
  const name = useId();
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-2 text-sm font-medium">What becomes of it</legend>
      {LATE.map((one) => (
        <div
          key={one}
          className="relative flex gap-3 rounded-lg border border-line p-3 text-sm has-checked:border-accent has-checked:bg-accent-soft"
        >
          <input
            type="radio"
            id={`${name}-${one}`}
            name={name}
            value={one}
            checked={props.decision === one}
            onChange={() => props.onChoose(one)}
            aria-describedby={`${name}-${one}-does`}
            className="mt-0.5 size-4 shrink-0 accent-accent"
          />
          <div className="flex flex-col gap-0.5">
            {/* The whole card takes the click. */}
            <label
              htmlFor={`${name}-${one}`}
              className="cursor-pointer font-medium after:absolute after:inset-0"
            >
              {DECISIONS[one].name}
            </label>
            <p id={`${name}-${one}-does`}>{props.consequence(one)}</p>
          </div>
        </div>
      ))}
    </fieldset>
  );
}
