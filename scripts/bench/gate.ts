// `npm run bench:gate -- --json`: admissions and life cycles a second, on one account and on 100, in the engine and
// through HTTP, 50 at a time; and what PostgreSQL does for the same two writes on this machine, where it is installed.
import { join } from "node:path";
import { createApiClient, readOperatorKey } from "../support/api-client.mjs";
import { helpText, parseOptions, runMain } from "../support/cli.mjs";
import { twoColumns } from "../support/progress.mjs";
import { rounded } from "../support/statistics.mjs";
import { openEngine, withTempFolder } from "../support/temp-engine.ts";
import { startTempStack } from "../support/temp-stack.ts";
import { engineAccounts, httpAccounts, type GateAccount, type OpenAccount } from "./gate-calls.ts";
import { AT_A_TIME, callsPerSecond, inRounds } from "./measure.ts";
import { benchPostgres } from "./postgres.ts";
import { flatten, makeResult, saveResult } from "./results.ts";

const OPTIONS = {
  rounds: {
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: 5,
    help: "rounds; figures are their medians",
  },
  url: { type: "url", help: "a running server instead of one started for the bench" },
  "data-dir": { type: "string", default: ".holdfast", help: "with --url: where to find its operator key" },
  "operator-key": { type: "string", help: "with --url: its operator key" },
  "skip-http": { type: "boolean", help: "only the engine and PostgreSQL" },
  json: { type: "boolean", help: "print one JSON object as the last line" },
  save: { type: "boolean", help: "append to scripts/bench/results.json and rewrite RESULTS.md" },
} as const;

type Options = ReturnType<typeof parseOptions<typeof OPTIONS>>;

const ACCOUNTS = 100;

await runMain("bench:gate", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run bench:gate -- [options]: speed of the gate", OPTIONS));
    return 0;
  }
  console.log("the accounts of this bench may start 10,000,000 jobs a minute");
  const engine = await withTempFolder((folder) => benchEngine(folder, options.rounds));
  const http = options["skip-http"] ? null : await benchHttp(options);
  const postgres = await benchPostgres(AT_A_TIME);
  const figures = {
    "in the engine": engine,
    ...(http && { "through HTTP": http }),
    "PostgreSQL, one budget row": postgres,
    ...comparison(engine["admissions a second, one account"], postgres),
  };
  const result = makeResult("gate", figures);
  console.log(twoColumns(flatten(figures)));
  if (options.save) saveResult(result);
  if (options.json) console.log(JSON.stringify(result));
  return 0;
});

async function benchEngine(folder: string, rounds: number) {
  const engine = await openEngine(join(folder, "gate.sqlite"));
  try {
    return await measureGate(engineAccounts(engine), rounds, { admissions: 2000, cycles: 400 });
  } finally {
    await engine.close();
  }
}

async function benchHttp(options: Options) {
  const { url } = options;
  if (url !== undefined) {
    const key = readOperatorKey({ operatorKey: options["operator-key"], dataDir: options["data-dir"] });
    return measureHttp(url, key, options.rounds);
  }
  return withTempFolder(async (folder) => {
    const stack = await startTempStack(folder);
    try {
      return await measureHttp(stack.url, stack.operatorKey, options.rounds);
    } finally {
      await stack.stop();
    }
  });
}

async function measureHttp(url: string, operatorKey: string, rounds: number) {
  const client = createApiClient({ url, connections: AT_A_TIME, timeoutMs: 60_000 });
  try {
    return await measureGate(httpAccounts(client, operatorKey), rounds, { admissions: 400, cycles: 80 });
  } finally {
    client.close();
  }
}

/** Each count is one round; a first round of each, on an account of its own, is not counted. */
async function measureGate(
  openAccount: OpenAccount,
  rounds: number,
  { admissions, cycles }: { admissions: number; cycles: number },
) {
  const one = await openAccount("bench one");
  const many: GateAccount[] = [];
  for (let index = 0; index < ACCOUNTS; index++) many.push(await openAccount(`bench ${index}`));
  const oneOf = () => one;
  const eachOf = (index: number) => many[index % ACCOUNTS] ?? one;
  const admit = (pick: (index: number) => GateAccount) => (round: number) =>
    callsPerSecond(admissions, (index) => pick(index).admit(`admit-${round}-${index}`, 1));
  const cycle = (pick: (index: number) => GateAccount) => (round: number) =>
    callsPerSecond(cycles, (index) => pick(index).lifeCycle(`cycle-${round}-${index}`));

  const warm = await openAccount("bench warm-up");
  await callsPerSecond(admissions, (index) => warm.lifeCycle(`warm-${index}`));
  for (const [index, account] of many.entries()) await account.admit(`first-${index}`, 1);
  return inRounds(rounds, {
    "admissions a second, one account": admit(oneOf),
    [`admissions a second, ${ACCOUNTS} accounts`]: admit(eachOf),
    "life cycles a second, one account": cycle(oneOf),
    [`life cycles a second, ${ACCOUNTS} accounts`]: cycle(eachOf),
  });
}

/** The gate's admissions on one account against the faster of PostgreSQL's two ways. */
function comparison(admissions: number | undefined, postgres: Record<string, number | string>): object {
  const rates = Object.values(postgres).filter((value) => typeof value === "number");
  if (rates.length === 0 || admissions === undefined) return {};
  return { "gate against PostgreSQL, times": rounded(admissions / Math.max(...rates), 2) };
}
