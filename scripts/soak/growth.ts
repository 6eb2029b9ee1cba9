// What is growth, and which of it is a leak. Pure: numbers in, verdicts out.
import { RETENTION, type RetentionRule } from "../../lib/retention/rules.ts";
import { median } from "../support/statistics.mjs";

/** One look at everything: what was measured, by its name. */
export interface Sample {
  /** Real seconds since the start. */
  readonly atSeconds: number;
  readonly values: Readonly<Record<string, number>>;
}

export interface Growth {
  readonly name: string;
  readonly first: number;
  readonly second: number;
  readonly last: number;
  readonly max: number;
  /** What has to be so, and whether it is; null for what may grow. */
  readonly rule: string | null;
  readonly isLeak: boolean;
}

/** Memory and files settle in the first half. From then on so much more, and a little for chance, is a leak. */
const LEVEL_RATIO_MAX = 1.3;
/** Megabytes that a heap may take before it is collected. */
const MEMORY_SLACK_MB = 24;
const OPEN_FILES_SLACK = 10;
const LOG_MB_MAX = 64;
const SEGMENTS_MAX = 8;

/** Rows of tables that are bounded by others. */
const BOUNDS: Readonly<Record<string, { readonly by: string; readonly each: number } | number>> = {
  limits: { by: "accounts", each: 2 },
  fixedLimits: { by: "accounts", each: 2 },
  shards: { by: "meters", each: 64 },
  marks: { by: "meters", each: 1 },
  reports: { by: "meters", each: 1 },
  fixedTotals: { by: "meters", each: 1 },
  linkTotals: { by: "links", each: 64 },
  driftSightings: { by: "accounts", each: 1 },
  billing: { by: "accounts", each: 1 },
  providerTokens: 1,
  settings: 1,
  runs: 20,
  runHistory: 200,
};

/** Tables whose rule says that they are bounded and for which no bound is known here. */
export function unboundedTables(): string[] {
  const rules: [string, RetentionRule][] = Object.entries(RETENTION);
  return rules
    .filter(([table, { kind }]) => kind === "bounded" && !(table in BOUNDS))
    .map(([table]) => table);
}

/** Quarters of the samples that have the value. Fewer than eight of them say nothing about growth. */
export function growthOf(samples: readonly Sample[]): Growth[] {
  const names = [...new Set(samples.flatMap(({ values }) => Object.keys(values)))];
  return names.map((name) => {
    const series = samples.flatMap(({ values }) => values[name] ?? []);
    const quarter = (number: number) => {
      const from = Math.floor((series.length * number) / 4);
      const until = Math.max(from + 1, Math.floor((series.length * (number + 1)) / 4));
      return median(series.slice(from, until));
    };
    const level = { first: quarter(0), second: quarter(1), last: quarter(3), max: Math.max(...series) };
    return { name, ...level, ...judge(name, level, samples, series.length) };
  });
}

function judge(
  name: string,
  { second, last, max }: Pick<Growth, "second" | "last" | "max">,
  samples: readonly Sample[],
  count: number,
): Pick<Growth, "rule" | "isLeak"> {
  const atMost = (limit: number) => ({ rule: `at most ${limit}`, isLeak: max > limit });
  const levelled = (slack: number) => ({
    rule: `last quarter at most ${LEVEL_RATIO_MAX} x second + ${slack}`,
    isLeak: count >= 8 && last > second * LEVEL_RATIO_MAX + slack,
  });
  if (name.startsWith("memory of ")) return levelled(MEMORY_SLACK_MB);
  if (name.startsWith("open files of ")) return levelled(OPEN_FILES_SLACK);
  if (name.startsWith("log of ")) return atMost(LOG_MB_MAX);
  if (name === "spool segments") return atMost(SEGMENTS_MAX);
  if (name === "spool files set aside") return atMost(0);
  const table = /^rows of (.+)$/.exec(name)?.[1];
  const bound = table === undefined ? undefined : BOUNDS[table];
  if (bound === undefined) return { rule: null, isLeak: false };
  if (typeof bound === "number") return atMost(bound);
  const isOver = samples.some(
    ({ values }) => (values[name] ?? 0) > bound.each * (values[`rows of ${bound.by}`] ?? 0),
  );
  return { rule: `at most ${bound.each} x ${bound.by}`, isLeak: isOver };
}
