/** Parts of a whole, as a bar. */

export interface MeterPart {
  readonly name: string;
  readonly units: number;
  readonly look: "used" | "held" | "over";
}

const LOOKS: Record<MeterPart["look"], string> = {
  used: "bg-accent",
  held: "striped bg-held",
  over: "bg-bad",
};

/**
 * `whole` null: there is no limit, so the parts fill the bar by their share and it has no right end. "unknown": the
 * bar stays empty and dashed, because no share can be told. The bar is a picture of the figures beside it; readers
 * that cannot see it hear `label`.
 */
export function MeterBar(props: {
  label: string;
  parts: readonly MeterPart[];
  whole: number | null | "unknown";
  isSmall?: boolean;
}) {
  const height = props.isSmall === true ? "h-2" : "h-4";
  if (props.whole === "unknown") {
    return (
      <div
        role="img"
        aria-label={props.label}
        className={`w-full rounded-full border border-dashed border-edge ${height}`}
      />
    );
  }
  const sum = props.parts.reduce((units, part) => units + part.units, 0);
  const whole = Math.max(props.whole ?? 0, sum, 1);
  return (
    <div
      role="img"
      aria-label={props.label}
      className={`flex w-full gap-px overflow-hidden rounded-full bg-sunken ring-1 ring-line ring-inset ${height} ${props.whole === null ? "mask-r-from-60%" : ""}`}
    >
      {props.parts.map(
        ({ name, units, look }) =>
          units > 0 && (
            <div
              key={name}
              className={`min-w-0.5 transition-[width] duration-300 ${LOOKS[look]}`}
              style={{ width: `${(units / whole) * 100}%` }}
            />
          ),
      )}
    </div>
  );
}

/** The mark of a part beside its figure: the same colour and pattern as in the bar. */
export function MeterMark({ look }: { look: MeterPart["look"] | "free" }) {
  return (
    <span
      aria-hidden
      className={`size-2.5 shrink-0 rounded-full ${look === "free" ? "bg-sunken ring-1 ring-edge ring-inset" : LOOKS[look]}`}
    />
  );
}
