import { formatUnits } from "../components/format.ts";
import { ofLimit, wholeOf } from "../components/limit-text.ts";
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
  return (
    <MeterBar
      isSmall={isSmall === true}
      label={`${formatUnits(usedUnits)} tokens used and ${formatUnits(heldUnits)} held ${ofLimit(limit)}`}
      whole={wholeOf(limit)}
      parts={[
        { name: "used", units: usedUnits, look: "used" },
        { name: "held", units: heldUnits, look: "held" },
      ]}
    />
  );
}
