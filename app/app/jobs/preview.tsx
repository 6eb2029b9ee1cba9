"use client";

import { useQuery } from "convex/react";
import { CircleCheck, CircleSlash, HelpCircle } from "lucide-react";
import { api } from "../../../convex/_generated/api";
import { refusalText } from "../../../lib/gate/refusal-text.ts";
import { checkUnits } from "../../../lib/shared/units.ts";
import { formatInstant, formatUnits } from "../../components/format.ts";
import { useKept } from "../../components/use-kept.ts";
import type { AdmissionArgs } from "./use-admission.ts";

/** What one such job would be told now. It asks and changes nothing. */
export function Preview({ asked }: { asked: Omit<AdmissionArgs, "key"> }) {
  const isWhole = checkUnits("units", asked.units, { minimum: 1 }) === null;
  const { units, kind, leaseMs } = asked;
  const answer = useKept(useQuery(api.gate.preview, isWhole ? { units, kind, leaseMs } : "skip"));
  if (answer === undefined || !isWhole) return <p className="min-h-5 text-sm" />;
  const line = "flex min-h-5 items-start gap-2 text-sm";
  switch (answer.kind) {
    case "would_admit":
      return (
        <p className={line}>
          <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
          <span>
            Would start: {formatUnits(answer.heldUnits)} of{" "}
            {answer.freeUnits === null ? "an unlimited number of" : formatUnits(answer.freeUnits)} free tokens
            would be held.
          </span>
        </p>
      );
    case "would_refuse": {
      const { title, detail, next } = refusalText(answer.refusal, formatInstant);
      return (
        <p className={line}>
          <CircleSlash aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
          <span>
            Would be refused now: {title.toLowerCase()}. <span className="text-muted">{detail}</span> {next}
          </span>
        </p>
      );
    }
    case "refresh_needed":
      return (
        <p className={line}>
          <HelpCircle aria-hidden className="mt-0.5 size-4 shrink-0 text-muted" />
          The limit was read too long ago to tell; the next job reads it first.
        </p>
      );
  }
}
