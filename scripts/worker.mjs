// A worker as a process of its own: runs one job over HTTP and may be killed at any moment.
//   node scripts/worker.mjs --key K --units 10000 --steps 10 --step-units 1000 --step-ms 500 --lease-ms 10000
// Each step is charged before its work begins, so a step that ran is never free and a capped one never runs.
// Exit 0: completed. 1: refused, lease lost, or no server. 2: bad options. 3: capped. 130: cancelled by Ctrl-C.
import { setTimeout as sleep } from "node:timers/promises";
import { answerFault, createApiClient, mustCall } from "./support/api-client.mjs";
import { CliError, helpText, parseOptions, runMain, usageError } from "./support/cli.mjs";

/** @import { ApiClient, Call } from "./support/api-client.mjs" */
/** @typedef {ReturnType<typeof parseOptions<typeof OPTIONS>>} Options */
/** @typedef {{id: string, key: string, status: string, fence: number, step: number, leaseMs: number, heldUnits: number, usedUnits: number, returnedUnits: number}} Job */

const OPTIONS = /** @type {const} */ ({
  key: { type: "string", help: "the job's key: the same key is the same job" },
  units: { type: "integer", minimum: 1, default: 10_000, help: "units to hold" },
  "accept-units": { type: "integer", minimum: 1, help: "smallest hold to accept instead" },
  steps: { type: "integer", minimum: 1, default: 10, help: "steps of the job" },
  "step-units": { type: "integer", default: 1000, help: "units of each step" },
  "step-ms": { type: "integer", maximum: 3_600_000, default: 500, help: "how long the work of a step takes" },
  "lease-ms": {
    type: "integer",
    minimum: 10_000,
    maximum: 120_000,
    default: 10_000,
    help: "length of the lease",
  },
  "take-over": {
    type: "boolean",
    help: "resume a running job at its next step, with the options it was started with; its older worker loses it",
  },
  kind: { type: "string", default: "worker", help: "kind of job, for estimates" },
  url: { type: "url", default: "http://localhost:3000", help: "where the server is" },
  "api-key": { type: "string", help: "API key of the account (default: HOLDFAST_API_KEY)" },
});

const EXIT_CAPPED = 3;
const EXIT_CANCELLED = 130;
/** Heartbeats a lease: one may be lost and the next still comes in time. */
const HEARTBEATS_PER_LEASE = 3;
const ANSWER_TIMEOUT_MS = 10_000;
/** Shorter than the shortest lease: what a repeat finds after that is a lost lease. */
const RETRY_SECONDS = 8;

/** @param {string[]} argv */
async function main(argv) {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("node scripts/worker.mjs --key <key> [options]: runs one job in steps", OPTIONS));
    return 0;
  }
  const { key } = options;
  const token = options["api-key"] ?? process.env.HOLDFAST_API_KEY;
  if (key === undefined) throw usageError("--key is needed");
  if (!token) throw usageError("an API key is needed: --api-key or HOLDFAST_API_KEY");
  const client = createApiClient({
    url: options.url,
    connections: 2,
    timeoutMs: ANSWER_TIMEOUT_MS,
    retrySeconds: RETRY_SECONDS,
  });
  try {
    const job = await begin(client, token, key, options);
    return job.status === "running" ? await work(client, token, job, options) : reportEnd(job);
  } finally {
    client.close();
  }
}

/**
 * Admits the job, or takes over the one that runs under its key.
 * @param {ApiClient} client
 * @param {string} token
 * @param {string} key
 * @param {Options} options
 * @returns {Promise<Job>}
 */
async function begin(client, token, key, options) {
  const body = {
    key,
    units: options.units,
    acceptUnits: options["accept-units"],
    kind: options.kind,
    leaseMs: options["lease-ms"],
  };
  const admitted = await mustCall(client, { method: "POST", path: "/jobs", token, body });
  /** @type {Job} */
  const job = admitted.job;
  if (admitted.replayed !== true || job.status !== "running") {
    if (job.status === "running") console.log(`job ${job.id}: holds ${job.heldUnits} units`);
    return job;
  }
  if (!options["take-over"]) {
    throw new CliError(`job ${job.id} already runs under the key ${key}; resume it with --take-over`);
  }
  const path = `/jobs/${job.id}/heartbeat`;
  const taken = await mustCall(client, { method: "POST", path, token, body: { takeOver: true } });
  console.log(`job ${job.id}: taken over after step ${taken.job.step}`);
  return taken.job;
}

/**
 * Runs the steps that are left and settles. Returns the exit code.
 * @param {ApiClient} client
 * @param {string} token
 * @param {Job} job
 * @param {Options} options
 */
async function work(client, token, job, options) {
  const stop = new AbortController();
  const onInterrupt = () => stop.abort("cancelled");
  process.once("SIGINT", onInterrupt);
  const heartbeat = startHeartbeat(client, token, job, stop);
  try {
    for (let step = job.step + 1; step <= options.steps && !stop.signal.aborted; step++) {
      const charged = await chargeStep(client, token, job, step, options["step-units"]);
      console.log(
        `step ${step}: charged ${charged.chargedUnits}, used ${charged.job.usedUnits} of ${job.heldUnits}`,
      );
      if (charged.capped) return reportEnd(charged.job);
      await sleep(options["step-ms"], undefined, { signal: stop.signal }).catch(() => undefined);
    }
  } finally {
    clearInterval(heartbeat);
    process.removeListener("SIGINT", onInterrupt);
  }
  if (stop.signal.aborted && stop.signal.reason !== "cancelled") throw stop.signal.reason;
  const outcome = stop.signal.aborted ? "cancelled" : "completed";
  const path = `/jobs/${job.id}/settle`;
  const settled = await mustCall(client, {
    method: "POST",
    path,
    token,
    body: { outcome, fence: job.fence },
  });
  return reportEnd(settled.job);
}

/**
 * Renews the lease between charges; what says that the job is lost stops the work.
 * @param {ApiClient} client
 * @param {string} token
 * @param {Job} job
 * @param {AbortController} stop
 */
function startHeartbeat(client, token, job, stop) {
  /** @type {Call} */
  const call = { method: "POST", path: `/jobs/${job.id}/heartbeat`, token, body: { fence: job.fence } };
  const beat = async () => {
    try {
      const answer = await client.call(call);
      if (answer.status === 409) stop.abort(new CliError(answerFault(call, answer)));
    } catch {
      // The next beat or the next charge tells; a lost heartbeat alone ends nothing.
    }
  };
  return setInterval(() => void beat(), Math.floor(job.leaseMs / HEARTBEATS_PER_LEASE));
}

/**
 * @param {ApiClient} client
 * @param {string} token
 * @param {Job} job
 * @param {number} step
 * @param {number} units
 * @returns {Promise<{job: Job, chargedUnits: number, capped: boolean}>}
 */
function chargeStep(client, token, { id, fence }, step, units) {
  return mustCall(client, {
    method: "POST",
    path: `/jobs/${id}/charge`,
    token,
    body: { step, units, fence },
  });
}

/** @param {Job} job */
function reportEnd(job) {
  console.log(`job ${job.id}: ${job.status}, used ${job.usedUnits}, returned ${job.returnedUnits}`);
  if (job.status === "completed") return 0;
  if (job.status === "capped") return EXIT_CAPPED;
  return job.status === "cancelled" ? EXIT_CANCELLED : 1;
}

await runMain("worker", main);
