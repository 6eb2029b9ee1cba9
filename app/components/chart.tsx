"use client";

import dynamic from "next/dynamic";
import { useId } from "react";

/** One row of numbers: as bars (stacked when `isStacked`), or as a line over them. */
export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** --chart-1 to --chart-6 of app/globals.css. */
  readonly color: 1 | 2 | 3 | 4 | 5 | 6;
  readonly kind?: "bar" | "line";
}

export interface ChartData {
  /** What the labels are: "When". */
  readonly axis: string;
  /** Under the axis, one for each value. */
  readonly labels: readonly string[];
  readonly series: readonly Series[];
  readonly isStacked?: boolean;
  /** A line across at this height, such as the limit. */
  readonly mark?: { readonly name: string; readonly value: number };
}

const Canvas = dynamic(() => import("./chart-canvas.tsx"), { ssr: false });

/**
 * A chart with the numbers behind it as a table that can be opened. The chart library comes when a chart is shown and
 * not before; the room for it is kept.
 */
export function Chart({ label, data }: { label: string; data: ChartData }) {
  const id = useId();
  return (
    <figure className="flex min-w-0 flex-col gap-3" aria-labelledby={id}>
      <figcaption id={id} className="sr-only">
        {label}
      </figcaption>
      <ul className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
        {data.series.map(({ name, color, kind }) => (
          <li key={name} className="flex items-center gap-1.5">
            <span
              aria-hidden
              className={kind === "line" ? "h-0.5 w-4" : "size-2.5 rounded-sm"}
              style={{ background: `var(--chart-${color})` }}
            />
            {name}
          </li>
        ))}
        {data.mark !== undefined && (
          <li className="flex items-center gap-1.5">
            <span aria-hidden className="w-4 border-t-2 border-dashed border-[var(--chart-5)]" />
            {data.mark.name} {data.mark.value.toLocaleString("en-US")}
          </li>
        )}
      </ul>
      <div aria-hidden className="relative h-56 w-full min-w-0">
        <Canvas data={data} />
      </div>
      <details className="text-sm">
        <summary className="cursor-pointer text-xs text-muted hover:text-ink">The numbers</summary>
        <div
          className="mt-2 max-h-64 overflow-auto rounded-md border border-line"
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- so that the keyboard can scroll it
          tabIndex={0}
          role="region"
          aria-label={`Numbers: ${label}`}
        >
          <table className="w-full text-xs tabular-nums">
            <thead className="sticky top-0 bg-card text-muted">
              <tr>
                <th scope="col" className="px-3 py-1.5 text-left font-medium">
                  {data.axis}
                </th>
                {data.series.map(({ name }) => (
                  <th key={name} scope="col" className="px-3 py-1.5 text-right font-medium">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.labels.map((row, index) => (
                <tr key={`${row} ${String(index)}`} className="border-t border-line">
                  <th scope="row" className="px-3 py-1 text-left font-normal">
                    {row}
                  </th>
                  {data.series.map(({ name, values }) => (
                    <td key={name} className="px-3 py-1 text-right">
                      {values[index]?.toLocaleString("en-US") ?? ""}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
