"use client";

import { useMutation } from "convex/react";
import { Play } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api } from "../../../convex/_generated/api";
import { checkLab, type LabForm as LabNumbers } from "../../../lib/lab/bounds.ts";
import { Button } from "../../components/button.tsx";
import { TextField } from "../../components/field.tsx";
import { formatUnits } from "../../components/format.ts";
import { Notice } from "../../components/notice.tsx";
import { Panel } from "../../components/panel.tsx";

type Form = Readonly<Record<keyof LabNumbers, string>>;

const PRESETS: readonly { readonly name: string; readonly about: string; readonly form: Form }[] = [
  {
    name: "Two fit, five ask",
    about: "5 jobs of 40,000 against 100,000",
    form: { jobs: "5", units: "40000", limitUnits: "100000", steps: "4", stepMs: "100" },
  },
  {
    name: "Room for exactly ten",
    about: "20 jobs of 5,000 against 50,000",
    form: { jobs: "20", units: "5000", limitUnits: "50000", steps: "5", stepMs: "50" },
  },
  {
    name: "A crowd",
    about: "50 jobs of 1,000 against 7,500",
    form: { jobs: "50", units: "1000", limitUnits: "7500", steps: "2", stepMs: "50" },
  },
  {
    name: "Room for all",
    about: "3 jobs of 20,000 against 100,000",
    form: { jobs: "3", units: "20000", limitUnits: "100000", steps: "4", stepMs: "100" },
  },
];

const FIELDS: readonly { readonly name: keyof LabNumbers; readonly label: string }[] = [
  { name: "jobs", label: "Jobs" },
  { name: "units", label: "Tokens each" },
  { name: "limitUnits", label: "Limit" },
  { name: "steps", label: "Steps each" },
  { name: "stepMs", label: "Step time, ms" },
];

/** What to run: a preset, or any numbers that the functions take. */
export function LabForm({ onStarted }: { onStarted: (labRunId: string) => void }) {
  const start = useMutation(api.lab.start);
  const [form, setForm] = useState<Form>(PRESETS[0]!.form);
  const [isChecked, setIsChecked] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const [hasFailed, setHasFailed] = useState(false);
  const numbers = numbersOf(form);
  const fault = isChecked ? checkLab(numbers) : null;

  async function onSubmit(event: FormEvent) {
    event.preventDefault();
    setIsChecked(true);
    if (checkLab(numbers) !== null) return;
    setIsBusy(true);
    setHasFailed(false);
    try {
      const { labRunId } = await start(numbers);
      onStarted(labRunId);
    } catch {
      setHasFailed(true);
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <Panel
      id="run"
      title="Start jobs at the same moment"
      about="Each run goes through the real gate on a throw-away account. No customer is touched."
    >
      <div role="group" aria-label="Presets" className="grid gap-2 sm:grid-cols-2 xl:grid-cols-4">
        {PRESETS.map((preset) => {
          const isChosen = FIELDS.every(({ name }) => form[name] === preset.form[name]);
          return (
            <button
              key={preset.name}
              type="button"
              aria-pressed={isChosen}
              onClick={() => setForm(preset.form)}
              className="flex cursor-pointer flex-col gap-0.5 rounded-lg border border-line px-3 py-2 text-left text-sm hover:bg-sunken aria-pressed:border-accent aria-pressed:bg-accent-soft"
            >
              <span className="font-medium">{preset.name}</span>
              <span className="text-xs text-muted">{preset.about}</span>
            </button>
          );
        })}
      </div>
      <form noValidate className="flex flex-col gap-4" onSubmit={(event) => void onSubmit(event)}>
        <div className="grid grid-cols-2 gap-4 sm:grid-cols-3 lg:grid-cols-5">
          {FIELDS.map(({ name, label }) => (
            <TextField
              key={name}
              label={label}
              type="number"
              step={1}
              value={form[name]}
              error={fault?.field === name ? `${fault.message}.` : undefined}
              onChange={(event) => setForm({ ...form, [name]: event.target.value })}
            />
          ))}
        </div>
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <Button type="submit" look="primary" isBusy={isBusy}>
            {!isBusy && <Play aria-hidden className="size-4" />}
            Run both sides
          </Button>
          {checkLab(numbers) === null && (
            <p className="text-sm text-muted tabular-nums">
              {numbers.jobs} × {formatUnits(numbers.units)} = {formatUnits(numbers.jobs * numbers.units)}{" "}
              wanted, {formatUnits(numbers.limitUnits)} allowed
            </p>
          )}
        </div>
      </form>
      {hasFailed && (
        <Notice isNews tone="bad" title="The run was not started" next="Try again.">
          No answer came, or it was refused.
        </Notice>
      )}
    </Panel>
  );
}

function numbersOf(form: Form): LabNumbers {
  const number = (text: string) => (text.trim() === "" ? Number.NaN : Number(text));
  return {
    jobs: number(form.jobs),
    units: number(form.units),
    limitUnits: number(form.limitUnits),
    steps: number(form.steps),
    stepMs: number(form.stepMs),
  };
}
