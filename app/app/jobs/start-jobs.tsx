"use client";

import { useQuery } from "convex/react";
import { Play } from "lucide-react";
import { useRef, useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Button } from "../../components/button.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { Panel } from "../../components/panel.tsx";
import { useUsage } from "../use-usage.ts";
import { Preview } from "./preview.tsx";
import { Suggestion } from "./suggestion.tsx";
import { type Outcome, StartOutcome } from "./start-outcome.tsx";
import { type AdmissionArgs, useAdmission } from "./use-admission.ts";

const AT_ONCE = 5;
/** Of the free plan's 10,000 five such jobs would hold 15,000: three start, and two are told why they do not. */
const DEFAULTS = {
  kind: "report",
  units: "3000",
  stepUnits: "100",
  steps: "10",
  stepMs: "1000",
  leaseMs: "10000",
};
const LEASES = [
  { ms: 10_000, name: "10 s" },
  { ms: 30_000, name: "30 s" },
  { ms: 120_000, name: "2 min" },
];
const PACES = [
  { ms: 500, name: "every 0.5 s" },
  { ms: 1000, name: "every second" },
  { ms: 3000, name: "every 3 s" },
  { ms: 5000, name: "every 5 s" },
];

/** Starts jobs that a worker here runs step by step. */
export function StartJobs() {
  const { admit } = useAdmission();
  const estimates = useQuery(api.gate.estimates, {});
  const usage = useUsage();
  const [form, setForm] = useState(DEFAULTS);
  const [starting, setStarting] = useState(0);
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  // Kept over a try that broke: pressing again then asks for the same jobs, not for more.
  const keys = useRef<string[]>([]);

  const set = (name: keyof typeof DEFAULTS) => (event: { target: { value: string } }) =>
    setForm({ ...form, [name]: event.target.value });
  const kind = form.kind.trim() === "" ? "default" : form.kind.trim();
  const asked: Omit<AdmissionArgs, "key"> = {
    units: Number(form.units),
    kind,
    leaseMs: Number(form.leaseMs),
    runner: { steps: Number(form.steps), stepUnits: Number(form.stepUnits), stepMs: Number(form.stepMs) },
  };
  const estimate = estimates?.kinds.find((one) => one.kind === kind);

  async function start(count: number) {
    setStarting(count);
    while (keys.current.length < count) keys.current.push(`screen-${crypto.randomUUID().slice(0, 8)}`);
    const asking = keys.current.slice(0, count).map(async (key): Promise<Outcome> => {
      try {
        return await admit({ ...asked, key });
      } catch {
        return { kind: "broken" };
      }
    });
    const answers = await Promise.all(asking);
    if (answers.every((answer) => answer.kind !== "broken")) keys.current = [];
    setOutcomes(answers);
    setStarting(0);
  }

  return (
    <Panel
      id="start"
      title="Start jobs"
      about="A worker on this server runs them. Your own worker does the same over the API."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void start(1);
        }}
      >
        <div className="grid grid-cols-2 gap-4 md:grid-cols-3 xl:grid-cols-6">
          <TextField label="Kind" maxLength={64} value={form.kind} onChange={set("kind")} />
          <TextField
            label="Tokens to hold"
            type="number"
            required
            min={1}
            step={1}
            value={form.units}
            onChange={set("units")}
          />
          <TextField
            label="Tokens each step"
            type="number"
            required
            min={0}
            step={1}
            value={form.stepUnits}
            onChange={set("stepUnits")}
          />
          <TextField
            label="Steps"
            type="number"
            required
            min={1}
            max={10_000}
            step={1}
            value={form.steps}
            onChange={set("steps")}
          />
          <SelectField label="A step" value={form.stepMs} onChange={set("stepMs")}>
            {PACES.map(({ ms, name }) => (
              <option key={ms} value={ms}>
                {name}
              </option>
            ))}
          </SelectField>
          <SelectField label="Lease" value={form.leaseMs} onChange={set("leaseMs")}>
            {LEASES.map(({ ms, name }) => (
              <option key={ms} value={ms}>
                {name}
              </option>
            ))}
          </SelectField>
        </div>
        <p className="flex min-h-8 flex-wrap items-center gap-x-2 gap-y-1 text-sm text-muted">
          {estimate !== undefined ? (
            <Suggestion
              estimate={estimate}
              freeUnits={usage?.freeUnits ?? null}
              onUse={(units) => setForm({ ...form, units: String(units) })}
            />
          ) : (
            estimates !== undefined && "No job of this kind has run to its end yet, so no hold is suggested."
          )}
        </p>
        <Preview asked={asked} />
        <div className="flex flex-wrap gap-2">
          <Button type="submit" look="primary" isBusy={starting === 1} disabled={starting > 0}>
            {starting !== 1 && <Play aria-hidden className="size-4" />}
            Start the job
          </Button>
          <Button isBusy={starting === AT_ONCE} disabled={starting > 0} onClick={() => void start(AT_ONCE)}>
            Start five at once
          </Button>
        </div>
      </form>
      <StartOutcome outcomes={outcomes} />
    </Panel>
  );
}
