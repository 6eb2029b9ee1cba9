import { formatUnits } from "../../components/format.ts";

/**
 * What was spent, and what is set aside, against a line that stands at the limit. What passes the line is seen. The
 * figures beside it say the same; readers that cannot see it hear `label`.
 */
export function LimitBar(props: {
  label: string;
  limitUnits: number;
  /** The right end of the bar: the same on both sides, so that they can be compared. */
  scaleUnits: number;
  spentUnits: number;
  /** Set aside and not spent yet. */
  heldUnits: number;
}) {
  const { limitUnits, scaleUnits, spentUnits, heldUnits } = props;
  const share = (units: number) => (units / Math.max(1, scaleUnits)) * 100;
  const at = share(limitUnits);
  const shift = at > 75 ? "-100%" : at < 25 ? "0" : "-50%";
  const parts = [
    { name: "spent", units: Math.min(spentUnits, limitUnits), look: "bg-accent" },
    { name: "over", units: Math.max(0, spentUnits - limitUnits), look: "bg-bad" },
    { name: "held", units: heldUnits, look: "striped bg-held" },
  ];
  return (
    <div role="img" aria-label={props.label} className="relative pt-6">
      <p
        aria-hidden
        className="absolute top-0 text-xs whitespace-nowrap text-muted tabular-nums"
        style={{ left: `${at}%`, transform: `translateX(${shift})` }}
      >
        limit {formatUnits(limitUnits)}
      </p>
      <div className="flex h-9 w-full overflow-hidden rounded-md bg-sunken ring-1 ring-line ring-inset">
        {parts.map(({ name, units, look }) => (
          <div
            key={name}
            className={`transition-[width] duration-200 ${look}`}
            style={{ width: `${share(units)}%` }}
          />
        ))}
      </div>
      <span
        aria-hidden
        className="absolute top-5 -bottom-1 w-0.5 -translate-x-1/2 bg-ink"
        style={{ left: `${at}%` }}
      />
    </div>
  );
}
