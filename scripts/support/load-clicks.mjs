// The click mode of load.mjs: follows a short link, counts what the ledger has of it, and has it reported and reconciled.
// Exit 0: every click was redirected and is in the ledger once, and the meter matches. 1: one of these is not so.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiClient, mustCall, readOperatorKey } from "./api-client.mjs";
import { helpText, parseOptions, usageError } from "./cli.mjs";
import { createFollower, emptyClickTally, refererPrefix } from "./follow-clicks.mjs";
import { inParallel } from "./load-run.mjs";
import { progressBar, twoColumns } from "./progress.mjs";
import { quantile, rounded } from "./statistics.mjs";

/** @import { ApiClient } from "./api-client.mjs" */
/** @import { ClickTally, Recorded } from "./follow-clicks.mjs" */
/** @typedef {ReturnType<typeof parseOptions<typeof OPTIONS>>} Options */
/** @typedef {ReturnType<typeof createFollower>} Follower */
/** @typedef {{accountId: string, code: string, token: string, close(): Promise<void>}} Target */
/**
 * @typedef {{feature: string, cycle: string, ledgerUnits: number, sentUnits: number | null, meterUnits: number | null,
 *   verdict: string, cause: string | null}} ReconciledMeter
 */

const OPTIONS = /** @type {const} */ ({
  clicks: { type: "integer", minimum: 1, maximum: 1_000_000, default: 5000, help: "how many clicks to send" },
  concurrency: { type: "integer", minimum: 1, maximum: 1000, default: 100, help: "clicks at a time" },
  url: { type: "url", default: "http://localhost:3000", help: "where the server is" },
  "data-dir": { type: "string", default: ".holdfast", help: "where to find the operator key" },
  "operator-key": { type: "string", help: "the operator key itself" },
  "api-key": {
    type: "string",
    help: "a key of the link's account; else the operator key makes one for the run",
  },
  timeout: { type: "duration", default: 30_000, help: "longest wait for one answer, such as 30s" },
  "drain-timeout": {
    type: "duration",
    default: 60_000,
    help: "longest wait for the ledger to have every redirected click",
  },
  json: { type: "boolean", help: "print one JSON object as the last line" },
});

/** As the first word instead of a code: a fresh account with a link of its own. */
const NEW = "new";
const NEW_TARGET = "https://example.com/";
const READ_AGAIN_FIRST_MS = 200;
const READ_AGAIN_MAX_MS = 2000;
/** Missing clicks that are named; the rest is counted. */
const NAMED_MAX = 20;

/**
 * @param {string} code
 * @param {string[]} argv what follows the code
 */
export async function loadClicks(code, argv) {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("node scripts/load.mjs <code>|new [options]: proves the count of clicks", OPTIONS));
    return 0;
  }
  if (options.timeout < 1) throw usageError("--timeout must be at least 1ms");
  const connections = Math.min(options.concurrency, options.clicks);
  const client = createApiClient({ url: options.url, connections: 4, timeoutMs: options.timeout });
  const follower = createFollower({ url: options.url, connections, timeoutMs: options.timeout });
  try {
    return await run(client, follower, code, options);
  } finally {
    client.close();
    follower.close();
  }
}

/**
 * @param {ApiClient} client
 * @param {Follower} follower
 * @param {string} code
 * @param {Options} options
 */
async function run(client, follower, code, options) {
  const operatorKey = readOperatorKey({
    operatorKey: options["operator-key"],
    dataDir: options["data-dir"],
  });
  const runId = randomBytes(5).toString("hex");
  const target = await findTarget(client, operatorKey, code, options["api-key"], runId);
  try {
    const cycles = new Set([await currentCycle(client, target.token)]);
    await follower.open(Math.min(options.concurrency, options.clicks));

    const tally = emptyClickTally();
    const startedAtMs = performance.now();
    await followAll(follower, tally, options, target.code, runId);
    const seconds = (performance.now() - startedAtMs) / 1000;

    // A run may go over the end of a cycle.
    cycles.add(await currentCycle(client, target.token));
    const from = { cycles, token: target.token, runId };
    const recorded = await readBack(follower, from, tally, options["drain-timeout"]);
    const meter = await settleUp(client, operatorKey, target.accountId, cycles);

    const missing = [...tally.redirected].filter((number) => !recorded.numbers.has(number));
    const result = { ...summary(tally, recorded, missing, seconds), ...meter.result };
    console.log(report(result));
    for (const fault of tally.faults) console.error(`  failed: ${fault}`);
    for (const name of missingNames(missing, runId)) console.error(`  missing: ${name}`);
    const problems = problemsOf(result, recorded.rows - recorded.numbers.size, meter.causes);
    for (const problem of problems) console.error(`load: ${problem}`);
    if (options.json) console.log(JSON.stringify(result));
    return problems.length === 0 ? 0 : 1;
  } finally {
    await target.close();
  }
}

/**
 * The link to follow and a key that may read its account. A key that was made for the run ends with it.
 * @param {ApiClient} client
 * @param {string} operatorKey
 * @param {string} code
 * @param {string | undefined} apiKey
 * @param {string} runId
 * @returns {Promise<Target>}
 */
async function findTarget(client, operatorKey, code, apiKey, runId) {
  const nothing = () => Promise.resolve();
  if (code !== NEW && apiKey !== undefined) {
    const { accountId } = await mustCall(client, { method: "GET", path: "/usage", token: apiKey });
    return { accountId, code, token: apiKey, close: nothing };
  }
  const accountId =
    code === NEW ? await createAccount(client, operatorKey, runId) : await ownerOf(client, operatorKey, code);
  const keys = `/accounts/${accountId}/keys`;
  const { apiKey: made, secret: token } = await mustCall(client, {
    method: "POST",
    path: keys,
    token: operatorKey,
    body: { name: `load ${runId}` },
  });
  const close = async () => {
    await mustCall(client, { method: "DELETE", path: `${keys}/${made.id}`, token: operatorKey });
  };
  if (code !== NEW) return { accountId, code, token, close };
  const body = { target: NEW_TARGET, title: `load ${runId}` };
  const { link } = await mustCall(client, { method: "POST", path: "/links", token, body });
  console.log(`follows /${link.code}, a link of a fresh account`);
  return { accountId, code: link.code, token, close };
}

/**
 * @param {ApiClient} client
 * @param {string} operatorKey
 * @param {string} runId
 * @returns {Promise<string>}
 */
async function createAccount(client, operatorKey, runId) {
  const body = { name: `load ${runId}` };
  const { account } = await mustCall(client, { method: "POST", path: "/accounts", token: operatorKey, body });
  return account.id;
}

/**
 * @param {ApiClient} client
 * @param {string} operatorKey
 * @param {string} code
 * @returns {Promise<string>}
 */
async function ownerOf(client, operatorKey, code) {
  const path = `/ops/links?code=${encodeURIComponent(code)}`;
  return (await mustCall(client, { method: "GET", path, token: operatorKey })).accountId;
}

/**
 * @param {ApiClient} client
 * @param {string} token
 * @returns {Promise<string>}
 */
async function currentCycle(client, token) {
  const page = await mustCall(client, { method: "GET", path: "/usage/entries?limit=1", token });
  return page.cycle.name;
}

/**
 * Sends the clicks with a progress bar. The first Ctrl-C sends no further ones.
 * @param {Follower} follower
 * @param {ClickTally} tally
 * @param {Options} options
 * @param {string} code
 * @param {string} runId
 */
async function followAll(follower, tally, options, code, runId) {
  let interrupted = false;
  const onInterrupt = () => {
    interrupted = true;
  };
  process.once("SIGINT", onInterrupt);
  const bar = progressBar(options.clicks);
  const work = async (/** @type {number} */ index) => {
    await follower.follow(tally, { code, runId, number: index + 1 });
    bar.show(tally.sent, `redirected ${tally.redirected.size}`);
  };
  await inParallel(options.clicks, options.concurrency, work, () => interrupted);
  bar.clear();
  process.removeListener("SIGINT", onInterrupt);
  if (interrupted) console.error(`load: interrupted after ${tally.sent} of ${options.clicks} clicks`);
}

/**
 * What the ledger has of the run. Clicks are written after their answers, so it is read again until nothing that was
 * redirected is missing, or the time is up.
 * @param {Follower} follower
 * @param {{cycles: ReadonlySet<string>, token: string, runId: string}} from
 * @param {ClickTally} tally
 * @param {number} timeoutMs
 * @returns {Promise<Recorded>}
 */
async function readBack(follower, { cycles, token, runId }, tally, timeoutMs) {
  const deadlineMs = performance.now() + timeoutMs;
  for (let waitMs = READ_AGAIN_FIRST_MS; ; waitMs = Math.min(waitMs * 2, READ_AGAIN_MAX_MS)) {
    /** @type {Recorded} */
    const recorded = { rows: 0, billable: 0, numbers: new Set() };
    for (const cycle of cycles) await follower.readRows({ cycle, token, runId }, recorded);
    const isComplete = [...tally.redirected].every((number) => recorded.numbers.has(number));
    if (isComplete || performance.now() + waitMs > deadlineMs) return recorded;
    await sleep(waitMs);
  }
}

/**
 * Has the account reported and reconciled, and adds up its meters of clicks in the cycles of the run: a change of plan
 * makes more than one. `reported` is what was last sent to them; `sent` beside it counts the clicks of this run.
 * @param {ApiClient} client
 * @param {string} operatorKey
 * @param {string} accountId
 * @param {ReadonlySet<string>} cycles
 */
async function settleUp(client, operatorKey, accountId, cycles) {
  const call = { method: /** @type {const} */ ("POST"), token: operatorKey, body: { accountId } };
  await mustCall(client, { ...call, path: "/ops/report" });
  /** @type {{meters: ReconciledMeter[]}} */
  const answer = await mustCall(client, { ...call, path: "/ops/reconcile" });
  const meters = answer.meters.filter(({ feature, cycle }) => feature === "clicks" && cycles.has(cycle));
  const sum = (/** @type {"ledgerUnits" | "sentUnits" | "meterUnits"} */ name) =>
    meters.reduce((/** @type {number | null} */ total, meter) => {
      const units = meter[name];
      return total === null || units === null ? null : total + units;
    }, 0);
  const wrong = meters.filter(({ verdict }) => verdict !== "match");
  return {
    result: {
      ledger: sum("ledgerUnits"),
      reported: sum("sentUnits"),
      meter: sum("meterUnits"),
      verdict: wrong[0]?.verdict ?? (meters.length === 0 ? "no meter" : "match"),
    },
    causes: wrong.flatMap(({ cause }) => (cause === null ? [] : [cause])),
  };
}

/**
 * `recorded` and `billable` are rows, so a click that was booked twice shows.
 * @param {ClickTally} tally
 * @param {Recorded} recorded
 * @param {readonly number[]} missing
 * @param {number} seconds
 */
function summary(tally, recorded, missing, seconds) {
  const answerMs = (/** @type {number} */ share) => {
    const value = quantile(tally.answerMs, share);
    return value === null ? null : rounded(value);
  };
  return {
    sent: tally.sent,
    redirected: tally.redirected.size,
    recorded: recorded.rows,
    billable: recorded.billable,
    lost: missing.length,
    seconds: rounded(seconds, 2),
    clicksPerSecond: rounded(tally.sent / seconds),
    p50Ms: answerMs(0.5),
    p95Ms: answerMs(0.95),
    p99Ms: answerMs(0.99),
  };
}

/** @typedef {ReturnType<typeof summary> & Awaited<ReturnType<typeof settleUp>>["result"]} Result */

/** @param {number | null} value */
const orDash = (value) => value ?? "-";

/** @param {Result} result */
function report(result) {
  const ms = (/** @type {number | null} */ value) => (value === null ? "-" : `${value} ms`);
  return twoColumns([
    ["sent", result.sent],
    ["redirected", result.redirected],
    ["recorded", result.recorded],
    ["billable", result.billable],
    ["lost", result.lost],
    ["seconds", result.seconds],
    ["clicks/s", result.clicksPerSecond],
    ["p50", ms(result.p50Ms)],
    ["p95", ms(result.p95Ms)],
    ["p99", ms(result.p99Ms)],
    ["ledger", orDash(result.ledger)],
    ["sent to the meter", orDash(result.reported)],
    ["meter", orDash(result.meter)],
    ["verdict", result.verdict],
  ]);
}

/**
 * @param {readonly number[]} missing
 * @param {string} runId
 */
function missingNames(missing, runId) {
  const names = missing
    .slice(0, NAMED_MAX)
    .map((number) => `the click from ${refererPrefix(runId)}${number}`);
  return missing.length > NAMED_MAX ? [...names, `and ${missing.length - NAMED_MAX} more`] : names;
}

/**
 * @param {Result} result
 * @param {number} twice rows beyond one for each click
 * @param {readonly string[]} causes
 */
function problemsOf({ sent, redirected, lost, verdict }, twice, causes) {
  const problems = [];
  // Such a click may be in the ledger all the same: it was followed, and its answer did not arrive.
  if (redirected !== sent) problems.push(`${sent - redirected} clicks were not redirected`);
  if (lost > 0) problems.push(`${lost} redirected clicks are not in the ledger`);
  if (twice > 0) problems.push(`${twice} clicks are in the ledger twice`);
  if (verdict !== "match") problems.push([`the reconciler says ${verdict}`, ...causes].join(": "));
  return problems;
}
