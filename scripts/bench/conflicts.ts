// `npm run bench:conflicts`: how often optimistic transactions meet, with local-convex running 50 of them at a time as a
// deployment of Convex would, and each read or write taking a while: on the row of a budget, on the counters of a meter
// with one shard and with 64, with clicks written one by one and in batches; and what load makes callers hear `busy`.
import { createHash } from "node:crypto";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { conflictWaitMs } from "../../lib/gate/conflict-retry.ts";
import { RequestError } from "../../lib/local-convex/errors.ts";
import { helpText, parseOptions, runMain } from "../support/cli.mjs";
import { inParallel } from "../support/load-run.mjs";
import { twoColumns } from "../support/progress.mjs";
import { ROOT } from "../support/root.ts";
import { quantile, rounded } from "../support/statistics.mjs";
import { type LocalEngine, openEngine, withTempFolder } from "../support/temp-engine.ts";
import { engineAccounts, type GateAccount, makeEngineAccount } from "./gate-calls.ts";
import { flatten, makeResult, saveResult } from "./results.ts";

const OPTIONS = {
  latency: {
    type: "number",
    minimum: 0,
    maximum: 100,
    default: 1,
    help: "milliseconds of each read or write",
  },
  calls: { type: "integer", minimum: 10, maximum: 100_000, default: 400, help: "calls of each measurement" },
  json: { type: "boolean", help: "print one JSON object as the last line" },
  save: { type: "boolean", help: "append to scripts/bench/results.json and rewrite RESULTS.md" },
} as const;

const CONCURRENCY = 50;
const BATCH = 20;
/** Callers at a time, until one hears `busy`. */
const LOADS = [2, 5, 10, 20, 50, 100, 200];

let runs = 0;
/** Accounts and the first rows of the counters are made without waiting. */
let isMeasuring = false;

await runMain("bench:conflicts", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(
      helpText("npm run bench:conflicts -- [options]: conflicts of optimistic transactions", OPTIONS),
    );
    return 0;
  }
  const { latency, calls } = options;
  const figures = await withTempFolder(async (folder) => {
    const open = (name: string, functions: string) =>
      openEngine(join(folder, `${name}.sqlite`), functions, {
        concurrency: CONCURRENCY,
        inject: { syscallLatencyMs: () => (isMeasuring ? latency : 0) },
      });
    const sharded = await open("64", "convex");
    const one = await open("1", relative(ROOT, functionsWithOneShard(folder)));
    try {
      return {
        [`${CONCURRENCY} callers, ${latency} ms a read or write`]: {
          "admissions, one account": await admissions(sharded, 1, calls, CONCURRENCY),
          "admissions, 50 accounts": await admissions(sharded, 50, calls, CONCURRENCY),
          "clicks, 1 shard, one by one": await clicks(one, 1, calls, CONCURRENCY),
          "clicks, 64 shards, one by one": await clicks(sharded, 1, calls, CONCURRENCY),
          [`clicks, 64 shards, batches of ${BATCH}`]: await clicks(sharded, BATCH, calls, CONCURRENCY),
        },
        "callers at which one hears busy": {
          "admissions, one account": await firstBusy((load) => admissions(sharded, 1, calls, load)),
          "clicks, 1 shard": await firstBusy((load) => clicks(one, 1, calls, load)),
          "clicks, 64 shards": await firstBusy((load) => clicks(sharded, 1, calls, load)),
        },
      };
    } finally {
      await one.close();
      await sharded.close();
    }
  });
  console.log(twoColumns(flatten(figures)));
  const result = makeResult("conflicts", figures);
  if (options.save) saveResult(result);
  if (options.json) console.log(JSON.stringify(result));
  return 0;
});

/** The product's functions as they are, but with one counter a meter and a link. Returns their folder. */
function functionsWithOneShard(folder: string): string {
  for (const part of ["convex", "lib"]) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  for (const file of ["package.json", "tsconfig.json"]) cpSync(join(ROOT, file), join(folder, file));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const [file, text] of [
    ["lib/ledger/shard.ts", "SHARDS = 64"],
    ["convex/linkRows.ts", "LINK_SHARDS = 16"],
  ] as const) {
    const source = readFileSync(join(folder, file), "utf8");
    if (source.split(text).length !== 2) throw new Error(`${file} does not have "${text}" once`);
    writeFileSync(join(folder, file), source.replace(text, text.replace(/\d+$/, "1")));
  }
  return join(folder, "convex");
}

interface Figures {
  readonly "transactions a second": number;
  /** Tries that were lost, for each transaction that was written. */
  readonly "conflicts a transaction": number;
  /** The engine gave up and our server tried again. */
  readonly "repeats by the server": number;
  readonly busy: number;
  readonly "ms, median": number;
  readonly "ms, p99": number;
}

async function admissions(
  engine: LocalEngine,
  accounts: number,
  calls: number,
  load: number,
): Promise<Figures> {
  const opened: GateAccount[] = [];
  for (let index = 0; index < accounts; index += 1) {
    const account = await engineAccounts(engine)(`conflicts ${++runs} ${index}`);
    await account.admit("first", 1);
    opened.push(account);
  }
  return await measure(engine, calls, load, (index) => opened[index % accounts]!.admit(`job-${index}`, 1));
}

async function clicks(engine: LocalEngine, batch: number, calls: number, load: number): Promise<Figures> {
  const auth = await makeEngineAccount(engine, `conflicts ${++runs}`);
  const { link } = await engine.mutation<{ link: { id: string } }>("links:create", {
    ...auth,
    target: "https://example.com/",
  });
  const { accountId } = await engine.query<{ accountId: string }>("gate:usage", { ...auth });
  const run = runs;
  const { serverSecret } = engine;
  const click = (name: string) => ({
    key: createHash("md5").update(name).digest("hex"),
    linkId: link.id,
    accountId,
    atMs: Date.now(),
    served: "target",
    class: "billable",
    rule: "billable",
    referrer: null,
    agent: null,
  });
  const write = async (name: string) => {
    const sent = Array.from({ length: batch }, (_, index) => click(`${run}-${name}-${index}`));
    const answer = await engine.mutation<{ kind: string }>("clicks:record", {
      serverSecret,
      linkId: link.id,
      accountId,
      clicks: sent,
    });
    if (answer.kind !== "written") throw new Error(`clicks:record: ${JSON.stringify(answer)}`);
  };
  // The first clicks of each shard make its row; what is measured is the life after that.
  await inParallel(300, 1, (index: number) => write(`first-${index}`));
  return await measure(engine, calls, load, (index) => write(String(index)));
}

async function measure(
  engine: LocalEngine,
  calls: number,
  load: number,
  call: (index: number) => Promise<unknown>,
): Promise<Figures> {
  isMeasuring = true;
  const before = engine.counts();
  const millis: number[] = [];
  let repeats = 0;
  let busy = 0;
  const startMs = performance.now();
  await inParallel(calls, load, async (index: number) => {
    const callStartMs = performance.now();
    for (let triesDone = 1; ; triesDone += 1) {
      try {
        await call(index);
        break;
      } catch (error) {
        if (!(error instanceof RequestError) || error.code !== "OptimisticConcurrencyControlFailure")
          throw error;
        const waitMs = conflictWaitMs(triesDone, Math.random());
        if (waitMs === null) {
          busy += 1;
          break;
        }
        repeats += 1;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
    millis.push(performance.now() - callStartMs);
  });
  const seconds = (performance.now() - startMs) / 1000;
  isMeasuring = false;
  const after = engine.counts();
  return {
    "transactions a second": rounded(calls / seconds, 0),
    "conflicts a transaction": rounded((after.conflicts - before.conflicts) / calls, 2),
    "repeats by the server": repeats,
    busy,
    "ms, median": rounded(quantile(millis, 0.5) ?? 0, 0),
    "ms, p99": rounded(quantile(millis, 0.99) ?? 0, 0),
  };
}

async function firstBusy(at: (load: number) => Promise<Figures>): Promise<number | string> {
  for (const load of LOADS) if ((await at(load)).busy > 0) return load;
  return `none up to ${LOADS.at(-1)}`;
}
