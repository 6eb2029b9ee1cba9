import { formatUnits } from "../components/format.ts";
import { MeterBar } from "../components/meter-bar.tsx";
import type { Usage } from "./limit-words.ts";

/** Used and held tokens of the limit; a limit that is not known is drawn as that, and not as used up. */
export function UsageBar({
  usage: { usedUnits, heldUnits, limit },
  isSmall,
}: {
  usage: Pick<Usage, "usedUnits" | "heldUnits" | "limit">;
  isSmall?: boolean;
}) {
  const of =
    limit === null
      ? "the limit is not known"
      : limit.limitUnits === null
        ? "there is no limit"
        : `of ${formatUnits(limit.limitUnits)}`;
  return (
    <MeterBar
      isSmall={isSmall === true}
      label={`${formatUnits(usedUnits)} tokens used and ${formatUnits(heldUnits)} held${limit?.limitUnits == null ? ";" : ""} ${of}`}
      whole={limit === null ? "unknown" : limit.limitUnits}
      parts={[
        { name: "used", units: usedUnits, look: "used" },
        { name: "held", units: heldUnits, look: "held" },
      ]}
    />
  );
}
