import { Button } from "../../components/button.tsx";
import { formatUnits } from "../../components/format.ts";
import type { KindEstimate } from "./estimates.tsx";

/** The hold that jobs of the kind suggest. One that would be refused now is named and not offered. */
export function Suggestion(props: {
  estimate: KindEstimate;
  /** Null where there is no limit, or none is known. */
  freeUnits: number | null;
  onUse: (units: number) => void;
}) {
  const { jobs, p50UsedUnits, p90UsedUnits, suggestedUnits } = props.estimate;
  const isRoom = props.freeUnits === null || suggestedUnits <= props.freeUnits;
  return (
    <>
      {jobs === 1 ? "1 job" : `${formatUnits(jobs)} jobs`} of this kind: half used up to{" "}
      {formatUnits(p50UsedUnits)}, nine in ten up to {formatUnits(p90UsedUnits)}. Suggested hold:{" "}
      {isRoom ? (
        <Button size="sm" onClick={() => props.onUse(suggestedUnits)}>
          Use {formatUnits(suggestedUnits)}
        </Button>
      ) : (
        `${formatUnits(suggestedUnits)}, more than the ${formatUnits(props.freeUnits ?? 0)} that are free now.`
      )}
    </>
  );
}
