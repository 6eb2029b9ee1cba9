const STATES = [
  { name: "ask", text: "4,000 wanted" },
  { name: "hold", text: "4,000 held" },
  { name: "charge", text: "3,100 used" },
  { name: "settle", text: "900 free again" },
] as const;

const WAY_OUT = "no sign of life: the lease ends, the sweeper gives the hold back";

const BOX = { width: 130, height: 64, gap: 46 } as const;

/** The way of a job, left to right, and the way out when its worker dies. */
export function JobLife() {
  const step = BOX.width + BOX.gap;
  const width = STATES.length * step - BOX.gap + 2;
  return (
    <figure className="max-w-3xl rounded-xl border border-line bg-card p-4">
      <svg
        viewBox={`0 0 ${width} 128`}
        role="img"
        aria-label="A job asks, holds 4,000, charges 3,100, and settles: 900 are free again. Without a sign of life its lease ends and the sweeper gives the hold back."
        className="hidden h-auto w-full sm:block"
      >
        {STATES.map(({ name, text }, index) => (
          <g key={name} transform={`translate(${1 + index * step} 2)`}>
            <rect
              width={BOX.width}
              height={BOX.height}
              rx="10"
              className={index === 1 ? "fill-accent-soft stroke-accent" : "fill-sunken stroke-edge"}
            />
            <text x={BOX.width / 2} y="27" textAnchor="middle" className="fill-ink text-[15px] font-semibold">
              {name}
            </text>
            <text x={BOX.width / 2} y="47" textAnchor="middle" className="fill-muted text-[13px]">
              {text}
            </text>
            {index < STATES.length - 1 && (
              <path
                d={`M${BOX.width + 6} ${BOX.height / 2}h${BOX.gap - 14}m-6 -5l6 5l-6 5`}
                className="fill-none stroke-muted"
                strokeWidth="1.5"
              />
            )}
          </g>
        ))}
        <path
          d={`M${1 + step + BOX.width / 2} ${BOX.height + 6}v34h${step * 2}v-30m-5 6l5 -6l5 6`}
          className="fill-none stroke-held"
          strokeWidth="1.5"
          strokeDasharray="5 4"
        />
        <text x={step * 2 + BOX.width / 2} y="124" textAnchor="middle" className="fill-muted text-[13px]">
          {WAY_OUT}
        </text>
      </svg>
      {/* The picture would be too small to read on a phone. */}
      <ol className="flex flex-col gap-2 text-sm sm:hidden">
        {STATES.map(({ name, text }) => (
          <li key={name} className="flex items-baseline justify-between gap-4 rounded-lg bg-sunken px-3 py-2">
            <span className="font-semibold">{name}</span>
            <span className="text-muted">{text}</span>
          </li>
        ))}
        <li className="rounded-lg border border-dashed border-held px-3 py-2 text-muted">{WAY_OUT}</li>
      </ol>
    </figure>
  );
}
