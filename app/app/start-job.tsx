"use client";

import { useAction, useMutation } from "convex/react";
import { type FormEvent, useRef, useState } from "react";
import { api } from "../../convex/_generated/api";
import { runAdmission } from "../../lib/gate/admission-loop.ts";
import { type RefusalText, refusalText } from "../../lib/gate/refusal-text.ts";
import { formatInstant, formatUnits } from "../components/format.ts";
import { inputClass, Panel, primaryButtonClass } from "../components/panel.tsx";

type Outcome =
  | { readonly kind: "none" }
  | { readonly kind: "admitted"; readonly heldUnits: number }
  | { readonly kind: "refused"; readonly text: RefusalText }
  | { readonly kind: "broken" };

const STEPS = 5;
const STEP_MS = 1_000;

/** Starts a job that a worker here runs in five steps, a second each. */
export function StartJob() {
  const admit = useMutation(api.gate.admit);
  const refresh = useAction(api.limits.refresh);
  const [isStarting, setIsStarting] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>({ kind: "none" });
  // Kept over a try that broke: pressing again then asks for the same job, not for a second one.
  const key = useRef<string | null>(null);

  async function start(units: number, stepUnits: number) {
    setIsStarting(true);
    key.current ??= `screen-${crypto.randomUUID()}`;
    const request = {
      key: key.current,
      units,
      kind: "screen",
      leaseMs: 10_000,
      runner: { steps: STEPS, stepUnits, stepMs: STEP_MS },
    };
    try {
      const answer = await runAdmission({
        attempt: () => admit(request),
        refresh: (refreshLease) => refresh({ refreshLease }),
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        nowMs: Date.now,
      });
      key.current = null;
      if (answer.kind === "admitted") setOutcome({ kind: "admitted", heldUnits: answer.job.heldUnits });
      else if (answer.kind === "refused") {
        setOutcome({ kind: "refused", text: refusalText(answer.refusal, formatInstant) });
      }
    } catch {
      setOutcome({ kind: "broken" });
    } finally {
      setIsStarting(false);
    }
  }

  function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    void start(Number(form.get("units")), Number(form.get("stepUnits")));
  }

  return (
    <Panel id="start" title="Start a job">
      <form onSubmit={onSubmit} className="grid items-end gap-4 sm:grid-cols-[1fr_1fr_auto]">
        <label className="flex flex-col gap-1 text-sm">
          Tokens to hold
          <input
            name="units"
            type="number"
            required
            min={1}
            step={1}
            defaultValue={1000}
            className={inputClass}
          />
        </label>
        <label className="flex flex-col gap-1 text-sm">
          Tokens each of {STEPS} steps uses
          <input
            name="stepUnits"
            type="number"
            required
            min={0}
            step={1}
            defaultValue={150}
            className={inputClass}
          />
        </label>
        <button type="submit" disabled={isStarting} className={primaryButtonClass}>
          {isStarting ? "Starting…" : "Start the job"}
        </button>
      </form>
      <div role="status" className="text-sm">
        {outcome.kind === "admitted" && (
          <p className="text-good">Started: {formatUnits(outcome.heldUnits)} tokens are held for it.</p>
        )}
        {outcome.kind === "refused" && (
          <>
            <p className="font-medium text-bad">{outcome.text.title}</p>
            <p>{outcome.text.detail}</p>
            <p className="text-muted">{outcome.text.next}</p>
          </>
        )}
        {outcome.kind === "broken" && (
          <p className="text-bad">
            No answer came. Press again: the same job is asked for, so it cannot start twice.
          </p>
        )}
      </div>
    </Panel>
  );
}
