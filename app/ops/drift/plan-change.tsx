import { ArrowRight } from "lucide-react";
import { planName } from "../../app/plan/plans.ts";

/** The plan that was known, and what the provider says. */
export function PlanChange({ from, to, ended }: { from: string; to: string | null; ended: number }) {
  const after = to === null ? "no plan" : planName(to);
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      {planName(from) === after ? (
        after
      ) : (
        <>
          {planName(from)}
          <ArrowRight aria-label="to" className="size-3.5 text-muted" />
          <span className="font-medium">{after}</span>
        </>
      )}
      {ended > 0 && (
        <span className="text-xs text-muted">
          {ended} {ended === 1 ? "agreement" : "agreements"} ended
        </span>
      )}
    </span>
  );
}
