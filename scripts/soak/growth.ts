// What is growth, and which of it is a leak. Pure: numbers in, verdicts out.
import { RETENTION, type RetentionRule } from "../../lib/retention/rules.ts";
import { ENGINE } from "../support/stack.ts";
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
/** The engine's pages of the database: as many as it has, up to this (lib/local-convex/storage.ts). */
const PAGE_CACHE_MB_MAX = 128;
const DATABASE = "database, MB";
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
  const cache = levelOf(samples, DATABASE);
  const cachedMb = (megabytes: number) => Math.min(megabytes, PAGE_CACHE_MB_MAX);
  const cacheGrowthMb = cachedMb(cache.last) - cachedMb(cache.second);
  return names.map((name) => {
    const { count, ...level } = levelOf(samples, name);
    return { name, ...level, ...judge(name, level, { samples, count, cacheGrowthMb }) };
  });
}

type Level = Pick<Growth, "first" | "second" | "last" | "max">;

function levelOf(samples: readonly Sample[], name: string): Level & { count: number } {
  const series = samples.flatMap(({ values }) => values[name] ?? []);
  const { length: count } = series;
  if (count === 0) return { first: 0, second: 0, last: 0, max: 0, count };
  const quarter = (number: number) => {
    const from = Math.floor((count * number) / 4);
    const until = Math.max(from + 1, Math.floor((count * (number + 1)) / 4));
    return median(series.slice(from, until));
  };
  return { first: quarter(0), second: quarter(1), last: quarter(3), max: Math.max(...series), count };
}

function judge(
  name: string,
  { second, last, max }: Level,
  run: { readonly samples: readonly Sample[]; readonly count: number; readonly cacheGrowthMb: number },
): Pick<Growth, "rule" | "isLeak"> {
  const atMost = (limit: number) => ({ rule: `at most ${limit}`, isLeak: max > limit });
  const levelled = (slack: number, more = "", moreSlack = 0) => ({
    rule: `last quarter at most ${LEVEL_RATIO_MAX} x second + ${slack}${more}`,
    isLeak: run.count >= 8 && last > second * LEVEL_RATIO_MAX + slack + moreSlack,
  });
  if (name === `memory of ${ENGINE}, MB`) {
    return levelled(MEMORY_SLACK_MB, " + growth of its page cache", run.cacheGrowthMb);
  }
  if (name.startsWith("memory of ")) return levelled(MEMORY_SLACK_MB);
  if (name.startsWith("open files of ")) return levelled(OPEN_FILES_SLACK);
  if (name.startsWith("log of ")) return atMost(LOG_MB_MAX);
  if (name === "spool segments") return atMost(SEGMENTS_MAX);
  if (name === "spool files set aside") return atMost(0);
  const table = /^rows of (.+)$/.exec(name)?.[1];
  const bound = table === undefined ? undefined : BOUNDS[table];
  if (bound === undefined) return { rule: null, isLeak: false };
  if (typeof bound === "number") return atMost(bound);
  const isOver = run.samples.some(
    ({ values }) => (values[name] ?? 0) > bound.each * (values[`rows of ${bound.by}`] ?? 0),
  );
  return { rule: `at most ${bound.each} x ${bound.by}`, isLeak: isOver };
}
