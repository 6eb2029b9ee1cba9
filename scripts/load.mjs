// Proves a usage limit under load: node scripts/load.mjs --jobs 120 --estimate 1000 --limit 100000 --concurrency 50
// Runs real job life cycles over HTTP on a fresh account and reads the account back at the end.
// With the code of a short link first it follows that link instead: node scripts/load.mjs <code> --clicks 5000
// Exit 0: the limit held, nothing is left held, no request failed. 1: one of these is not so, or no server. 2: bad options.
import { randomBytes } from "node:crypto";
import { createApiClient, mustCall, readOperatorKey } from "./support/api-client.mjs";
import { helpText, parseOptions, runMain, usageError } from "./support/cli.mjs";
import { loadClicks } from "./support/load-clicks.mjs";
import { emptyTally, inParallel, runJob } from "./support/load-run.mjs";
import { progressBar, twoColumns } from "./support/progress.mjs";
import { quantile, rounded } from "./support/statistics.mjs";

/** @import { ApiClient } from "./support/api-client.mjs" */
/** @import { Tally } from "./support/load-run.mjs" */
/** @typedef {ReturnType<typeof parseOptions<typeof OPTIONS>>} Options */

const OPTIONS = /** @type {const} */ ({
  jobs: { type: "integer", minimum: 1, maximum: 1_000_000, default: 120, help: "how many jobs to try" },
  estimate: { type: "integer", minimum: 1, default: 1000, help: "units each job holds and spends" },
  limit: { type: "integer", default: 100_000, help: "fixed limit of the fresh account, in units" },
  concurrency: { type: "integer", minimum: 1, maximum: 1000, default: 50, help: "jobs at a time" },
  charges: { type: "integer", minimum: 1, maximum: 1000, default: 3, help: "charges a job" },
  url: { type: "url", default: "http://localhost:3000", help: "where the server is" },
  "data-dir": { type: "string", default: ".holdfast", help: "where to find the operator key" },
  "operator-key": { type: "string", help: "the operator key itself" },
  "api-key": { type: "string", help: "run on the existing account of this key; its own limit counts" },
  timeout: { type: "duration", default: 30_000, help: "longest wait for one answer, such as 30s" },
  "retry-seconds": {
    type: "integer",
    maximum: 3600,
    default: 0,
    help: "repeat a request for this long after connection errors and 503",
  },
  json: { type: "boolean", help: "print one JSON object as the last line" },
});

/** New jobs a minute an account may start unless an operator has set another number. */
const JOBS_PER_MINUTE_DEFAULT = 120;

/** @param {string[]} argv */
async function main(argv) {
  const [code, ...rest] = argv;
  if (code !== undefined && !code.startsWith("-")) return loadClicks(code, rest);
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("node scripts/load.mjs [options]: proves a usage limit under load", OPTIONS));
    console.log(
      "\nnode scripts/load.mjs <code>|new [options]: proves the count of clicks (--help after the code)",
    );
    return 0;
  }
  if (options.timeout < 1) throw usageError("--timeout must be at least 1ms");
  const client = createApiClient({
    url: options.url,
    connections: options.concurrency,
    timeoutMs: options.timeout,
    retrySeconds: options["retry-seconds"],
  });
  try {
    return await run(client, options);
  } finally {
    client.close();
  }
}

/**
 * @param {ApiClient} client
 * @param {Options} options
 */
async function run(client, options) {
  const runId = randomBytes(5).toString("hex");
  const token = await prepare(client, options, runId);
  const before = await readUsage(client, token);
  await openConnections(client, token, Math.min(options.concurrency, options.jobs));

  const tally = emptyTally();
  const requestsBefore = client.requests;
  const startedAtMs = performance.now();
  await runJobs(client, options, token, runId, tally);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const requests = client.requests - requestsBefore;

  const after = await readUsage(client, token);
  const result = summary(tally, before, after, seconds, requests);
  console.log(report(result));
  for (const fault of tally.faults) console.error(`  failed: ${fault}`);
  const problems = problemsOf(result, after);
  for (const problem of problems) console.error(`load: ${problem}`);
  if (options.json) console.log(JSON.stringify(result));
  return problems.length === 0 ? 0 : 1;
}

/**
 * The account to run on. The server has warmed itself up when it started (scripts/support/warm-up.ts); what is left
 * to this side is to open its connections.
 * @param {ApiClient} client
 * @param {Options} options
 * @param {string} runId
 * @returns {Promise<string>} the API key
 */
async function prepare(client, options, runId) {
  const existing = options["api-key"];
  if (existing !== undefined) {
    console.log("runs on an existing account: its own limit and rate count, --limit does not");
    return existing;
  }
  const jobsPerMinute = options.jobs > JOBS_PER_MINUTE_DEFAULT ? options.jobs : undefined;
  if (jobsPerMinute !== undefined) {
    console.log(
      `the fresh account may start ${jobsPerMinute} jobs a minute instead of ${JOBS_PER_MINUTE_DEFAULT}`,
    );
  }
  const operatorKey = readOperatorKey({
    operatorKey: options["operator-key"],
    dataDir: options["data-dir"],
  });
  return createAccount(client, operatorKey, `load ${runId}`, options.limit, jobsPerMinute);
}

/**
 * Opens every connection with a read before the clock starts: workers keep theirs open, and a Node server accepts
 * one new connection a turn, so 50 that open at once would measure that and not the gate.
 * @param {ApiClient} client
 * @param {string} token
 * @param {number} count
 */
async function openConnections(client, token, count) {
  await Promise.all(Array.from({ length: count }, () => readUsage(client, token)));
}

/**
 * @param {ApiClient} client
 * @param {string} operatorKey
 * @param {string} name
 * @param {number} limitUnits
 * @param {number | undefined} jobsPerMinute
 * @returns {Promise<string>} an API key of the new account
 */
async function createAccount(client, operatorKey, name, limitUnits, jobsPerMinute) {
  const body = { name, limitUnits, jobsPerMinute };
  const { account } = await mustCall(client, { method: "POST", path: "/accounts", token: operatorKey, body });
  const keys = `/accounts/${account.id}/keys`;
  const { secret } = await mustCall(client, {
    method: "POST",
    path: keys,
    token: operatorKey,
    body: { name: "load" },
  });
  return secret;
}

/**
 * Runs the jobs with a progress bar. The first Ctrl-C starts no further jobs and lets the running ones end.
 * @param {ApiClient} client
 * @param {Options} options
 * @param {string} token
 * @param {string} runId
 * @param {Tally} tally
 */
async function runJobs(client, options, token, runId, tally) {
  let interrupted = false;
  const onInterrupt = () => {
    interrupted = true;
  };
  process.once("SIGINT", onInterrupt);
  const bar = progressBar(options.jobs);
  let done = 0;
  const work = async (/** @type {number} */ index) => {
    const { estimate, charges } = options;
    await runJob(client, tally, { token, key: `load-${runId}-${index + 1}`, estimate, charges });
    bar.show(++done, `started ${tally.started}, refused ${tally.refused}, failed ${tally.failed}`);
  };
  await inParallel(options.jobs, options.concurrency, work, () => interrupted);
  bar.clear();
  process.removeListener("SIGINT", onInterrupt);
  if (interrupted) console.error(`load: interrupted after ${done} of ${options.jobs} jobs`);
}

/**
 * @param {ApiClient} client
 * @param {string} token
 * @returns {Promise<{usedUnits: number, heldUnits: number, limit: {limitUnits: number | null} | null}>}
 */
function readUsage(client, token) {
  return mustCall(client, { method: "GET", path: "/usage", token });
}

/** @typedef {ReturnType<typeof summary>} Result */

/**
 * @param {Tally} tally
 * @param {Awaited<ReturnType<typeof readUsage>>} before
 * @param {Awaited<ReturnType<typeof readUsage>>} after
 * @param {number} seconds
 * @param {number} requests
 */
function summary(tally, before, after, seconds, requests) {
  const startMs = (/** @type {number} */ share) => {
    const value = quantile(tally.startMs, share);
    return value === null ? null : rounded(value);
  };
  return {
    started: tally.started,
    refused: tally.refused,
    failed: tally.failed,
    spent: after.usedUnits - before.usedUnits,
    held: after.heldUnits,
    limit: after.limit?.limitUnits ?? null,
    seconds: rounded(seconds, 2),
    requestsPerSecond: rounded(requests / seconds),
    p50Ms: startMs(0.5),
    p95Ms: startMs(0.95),
    p99Ms: startMs(0.99),
  };
}

/** @param {number | null} value */
function msText(value) {
  return value === null ? "-" : `${value} ms`;
}

/** @param {Result} result */
function report(result) {
  return twoColumns([
    ["started", result.started],
    ["refused", result.refused],
    ["failed", result.failed],
    ["spent", result.spent],
    ["still held", result.held],
    ["limit", result.limit ?? "unlimited"],
    ["seconds", result.seconds],
    ["requests/s", result.requestsPerSecond],
    ["start p50", msText(result.p50Ms)],
    ["start p95", msText(result.p95Ms)],
    ["start p99", msText(result.p99Ms)],
  ]);
}

/**
 * @param {Result} result
 * @param {{usedUnits: number}} after
 */
function problemsOf({ failed, held, limit }, { usedUnits }) {
  const problems = [];
  if (limit !== null && usedUnits > limit)
    problems.push(`${usedUnits} units spent, ${usedUnits - limit} over the limit`);
  if (held !== 0) problems.push(`${held} units are still held`);
  if (failed !== 0) problems.push(`${failed} jobs failed`);
  return problems;
}

await runMain("load", main);
