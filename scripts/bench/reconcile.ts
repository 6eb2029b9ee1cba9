// `npm run bench:reconcile -- --json`: one reconciliation of an account with 10,000, 100,000 and 1,000,000 ledger rows
// on an engine as a process of its own: rows a second, and the most memory that the engine had.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cycleAt } from "../../lib/ledger/cycle.ts";
import { HOUR_MS } from "../../lib/shared/durations.ts";
import { helpText, parseOptions, runMain } from "../support/cli.mjs";
import { freePort } from "../support/ports.ts";
import { twoColumns } from "../support/progress.mjs";
import { ROOT } from "../support/root.ts";
import { rounded } from "../support/statistics.mjs";
import { engineEnvironment, openEngine, withTempFolder } from "../support/temp-engine.ts";
import { flatten, makeResult, saveResult } from "./results.ts";

const OPTIONS = {
  rows: { type: "integer", minimum: 64, maximum: 10_000_000, help: "one size instead of the three" },
  json: { type: "boolean", help: "print one JSON object as the last line" },
  save: { type: "boolean", help: "append to scripts/bench/results.json and rewrite RESULTS.md" },
} as const;

const SIZES = [10_000, 100_000, 1_000_000];
/** What a transaction writes well within the second that it may take. */
const BATCH = 2_000;
/** Rows are an hour old, as nearly all are in the night: a counter's newest minute is read in one go. */
const AGE_MS = HOUR_MS;

await runMain("bench:reconcile", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run bench:reconcile -- [options]: speed of the reconciler", OPTIONS));
    return 0;
  }
  const figures: Record<string, object> = {};
  for (const rows of options.rows === undefined ? SIZES : [options.rows]) {
    figures[`${rows.toLocaleString("en")} rows`] = await withTempFolder((folder) => benchSize(folder, rows));
  }
  const result = makeResult("reconcile", figures);
  console.log(twoColumns(flatten(figures)));
  if (options.save) saveResult(result);
  if (options.json) console.log(JSON.stringify(result));
  return 0;
});

async function benchSize(folder: string, rows: number) {
  const dataFile = join(folder, "ledger.sqlite");
  const accountId = await fill(dataFile, rows);
  const port = await freePort();
  const args = ["--data-file", dataFile, "--port", String(port), "--exit-with-parent"];
  const engine = spawn(process.execPath, ["--import", "tsx", "lib/local-convex/main.ts", ...args], {
    cwd: ROOT,
    env: { ...process.env, ...engineEnvironment.env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(engine, "close");
  try {
    for await (const line of createInterface({ input: engine.stdout })) if (line.includes("listening")) break;
    const startedMb = memoryMb(engine.pid!);
    const startMs = performance.now();
    const checked = await reconcile(port, accountId);
    const seconds = (performance.now() - startMs) / 1_000;
    if (checked !== rows) throw new Error(`${checked} of ${rows} rows were checked`);
    return {
      seconds: rounded(seconds, 2),
      "rows a second": rounded(rows / seconds),
      "memory before, MB": startedMb,
      "peak memory, MB": memoryMb(engine.pid!),
    };
  } finally {
    engine.kill("SIGTERM");
    await ended;
  }
}

/** The account with so many rows. */
async function fill(dataFile: string, rows: number): Promise<string> {
  const clock = {
    nowMs: () => Date.now() - AGE_MS,
    realDelayMs: () => Infinity,
    onJump: () => () => undefined,
  };
  const real = await openEngine(dataFile, "convex", { clock });
  const name = "bench";
  const { account } = await real.mutation<{ account: { id: string; cycleAnchorMs: number } }>(
    "accounts:create",
    {
      ...real.operator,
      name,
    },
  );
  await real.close();
  const accountId = account.id;
  const cycle = cycleAt(account.cycleAnchorMs, clock.nowMs()).name;
  const engine = await openEngine(dataFile, "scripts/bench/ledger-functions", { clock });
  for (let from = 0; from < rows; from += BATCH) {
    const count = Math.min(BATCH, rows - from);
    await engine.mutation("fill:clicks", { accountId, cycle, from, count });
  }
  await engine.mutation("fill:totals", { count: rows });
  await engine.close();
  return accountId;
}

interface Reconciled {
  readonly status: string;
  readonly counts: Record<string, number>;
  readonly meters: readonly { readonly verdict: string }[];
}

/** Reconciles and returns how many rows were added up. Throws with the reasons when it was no plain match. */
async function reconcile(port: number, accountId: string): Promise<number> {
  const run = await call<Reconciled>(port, "action", "ops:reconcile", { accountId });
  if (run.status !== "good" || run.meters[0]?.verdict !== "match") {
    const reviews = await call(port, "query", "reviews:list", { status: "open", cursor: null, limit: 10 });
    throw new Error(`not reconciled: ${JSON.stringify({ run, reviews })}`);
  }
  return run.counts["rows"] ?? 0;
}

async function call<T>(port: number, kind: "action" | "query", path: string, args: object): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${port}/api/${kind}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      path,
      format: "convex_encoded_json",
      args: [{ ...engineEnvironment.operator, ...args }],
    }),
  });
  const answer = (await response.json()) as { value?: T; errorMessage?: string };
  if (answer.value === undefined) throw new Error(`${path}: ${answer.errorMessage}`);
  return answer.value;
}

/** The most resident memory that the process had, where the system tells; else what it has now. */
function memoryMb(pid: number): number {
  const status = `/proc/${pid}/status`;
  const peak = existsSync(status) ? /VmHWM:\s+(\d+) kB/.exec(readFileSync(status, "utf8"))?.[1] : undefined;
  const kilobytes = peak ?? execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" });
  return rounded(Number(kilobytes) / 1024);
}
