"use client";

import { useEffect, useEffectEvent, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { ChartData, Series } from "./chart.tsx";

/** A bar takes this share of its place, and no more pixels than that. */
const BAR_SIZE: uPlot.Series.BarsPathBuilderOpts["size"] = [0.8, 28];
/** Room for one label under the axis. */
const LABEL_PX = 64;
const HEIGHT_PX = 224;

interface Pointed {
  readonly index: number;
  /** From the left of the chart. */
  readonly leftPx: number;
  /** Whether the box stands left of the point, because there is no room at its right. */
  readonly isLeft: boolean;
}

/** Draws on a canvas. Loaded by chart.tsx alone, so that screens without a chart do not carry the library. */
export default function ChartCanvas({ data }: { data: ChartData }) {
  const frame = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const onCursor = useEffectEvent((plot: uPlot) => {
    const { idx, left = -1 } = plot.cursor;
    const offset = plot.bbox.left / devicePixelRatio;
    const isLeft = left > plot.bbox.width / devicePixelRatio / 2;
    setPointed(idx == null || left < 0 ? null : { index: idx, leftPx: left + offset, isLeft });
  });

  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const options = optionsOf(data, element.clientWidth, (plot) => onCursor(plot));
    const plot = new uPlot(options, valuesOf(data), element);
    const sized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    sized.observe(element);
    // Colours are read when it is drawn, so another theme means drawing again.
    const repaint = () => plot.redraw(false);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const chosen = new MutationObserver(repaint);
    dark.addEventListener("change", repaint);
    chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      sized.disconnect();
      dark.removeEventListener("change", repaint);
      chosen.disconnect();
      plot.destroy();
    };
  }, [data]);

  return (
    <div ref={frame} className="relative h-full w-full">
      {pointed !== null && <Tip data={data} pointed={pointed} />}
    </div>
  );
}

/** The numbers at the pointer. */
function Tip({ data, pointed: { index, leftPx, isLeft } }: { data: ChartData; pointed: Pointed }) {
  return (
    <div
      className={`pointer-events-none absolute top-2 z-10 rounded-md border border-line bg-card px-2.5 py-2 text-xs shadow-md ${isLeft ? "-translate-x-[calc(100%+0.75rem)]" : "translate-x-3"}`}
      style={{ left: leftPx }}
    >
      <p className="pb-1 font-medium">{data.labels[index]}</p>
      {data.series.map(({ name, color, values }) => (
        <p key={name} className="flex items-center gap-1.5 whitespace-nowrap text-muted">
          <span className="size-2 rounded-sm" style={{ background: `var(--chart-${color})` }} />
          {name}
          <span className="ml-auto pl-3 text-ink tabular-nums">
            {values[index]?.toLocaleString("en-US") ?? "–"}
          </span>
        </p>
      ))}
    </div>
  );
}

/** How wide a text is drawn: the last label stands around the right end of its axis, and half of it needs room there. */
function widthOf(text: string, font: string): number {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) return 0;
  context.font = font;
  return context.measureText(text).width;
}

/** What a custom property comes to as a colour: its own text may be `light-dark(…)`. */
function colorOf(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** As they are drawn: a stack from its top down, so that each bar covers the foot of the one behind it; then lines. */
function drawnOf({ series, mark, labels }: ChartData): readonly Series[] {
  const bars = series.filter(({ kind }) => kind !== "line");
  const lines = series.filter(({ kind }) => kind === "line");
  const across: readonly Series[] =
    mark === undefined
      ? []
      : [{ name: mark.name, values: labels.map(() => mark.value), color: 5, kind: "line" }];
  return [...bars.toReversed(), ...lines, ...across];
}

function valuesOf(data: ChartData): uPlot.AlignedData {
  const bars = data.series.filter(({ kind }) => kind !== "line");
  const values = drawnOf(data).map((one) => {
    const at = bars.indexOf(one);
    if (at <= 0 || data.isStacked !== true) return [...one.values];
    // The top of a bar in its stack: its own value and all below it.
    const below = bars.slice(0, at + 1);
    return one.values.map((_, index) => below.reduce((sum, bar) => sum + (bar.values[index] ?? 0), 0));
  });
  return [data.labels.map((_, index) => index), ...values];
}

function optionsOf(data: ChartData, width: number, onCursor: (plot: uPlot) => void): uPlot.Options {
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const ink = () => colorOf("muted");
  const line = () => colorOf("line");
  const last = data.labels.length - 1;
  return {
    width,
    height: HEIGHT_PX,
    padding: [10, Math.max(8, Math.ceil(widthOf(data.labels.at(-1) ?? "", font) / 2)), 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: [-0.6, last + 0.6] },
      y: { range: (_plot, _min, max) => [0, Math.max(4, (max ?? 0) * 1.06)] },
    },
    axes: [
      {
        font,
        stroke: ink,
        grid: { show: false },
        ticks: { show: false },
        border: { show: true, stroke: line, width: 1 },
        size: 28,
        gap: 8,
        space: LABEL_PX,
        incrs: [1, 2, 3, 4, 5, 6, 7, 10, 14, 20, 30, 50],
        values: (_plot, splits) => splits.map((split) => data.labels[split] ?? ""),
      },
      {
        font,
        stroke: ink,
        grid: { stroke: line, width: 1 },
        ticks: { show: false },
        size: 44,
        space: 28,
        incrs: [1, 2, 5]
          .flatMap((step) => Array.from({ length: 14 }, (_, power) => step * 10 ** power))
          .toSorted((a, b) => a - b),
        values: (_plot, splits) => splits.map(shortUnits),
      },
    ],
    series: [{}, ...drawnOf(data).map((one) => seriesOf(one, data))],
    hooks: { setCursor: [onCursor] },
  };
}

function seriesOf({ name, color, kind }: Series, { mark, series }: ChartData): uPlot.Series {
  const paint = () => colorOf(`chart-${color}`);
  if (kind !== "line") {
    const paths = uPlot.paths.bars?.({ size: BAR_SIZE, radius: 0.08 });
    return {
      label: name,
      width: 0,
      fill: paint,
      points: { show: false },
      ...(paths === undefined ? {} : { paths }),
    };
  }
  const isMark = name === mark?.name && !series.some((one) => one.name === name);
  return {
    label: name,
    stroke: paint,
    width: isMark ? 1.5 : 2,
    ...(isMark ? { dash: [5, 4] } : {}),
    points: { show: false },
  };
}

const shortUnits = (value: number): string =>
  new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 }).format(value);
