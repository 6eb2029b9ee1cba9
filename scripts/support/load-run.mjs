// The life cycles of a load run: admit, a few numbered charges, settle. Counts outcomes; decides nothing.
import { answerFault, ConnectionError } from "./api-client.mjs";
import { splitEvenly } from "./statistics.mjs";

/** @import { Answer, ApiClient, Call } from "./api-client.mjs" */

/**
 * @typedef {object} Tally
 * @property {number} started jobs that were admitted
 * @property {number} refused admissions answered with a typed refusal (402, 429)
 * @property {number} failed jobs that met anything else, at any step
 * @property {number[]} startMs the time from asking to being admitted, of each started job
 * @property {string[]} faults one line for each of the first failures
 */

/** Enough to see what goes wrong without a page for every job. */
const FAULTS_KEPT = 5;

/** @returns {Tally} */
export function emptyTally() {
  return { started: 0, refused: 0, failed: 0, startMs: [], faults: [] };
}

/**
 * Runs one job to its end, spending the whole estimate, and adds the outcome to the tally.
 * @param {ApiClient} client
 * @param {Tally} tally
 * @param {{token: string, key: string, estimate: number, charges: number}} job
 */
export async function runJob(client, tally, { token, key, estimate, charges }) {
  try {
    const askedAtMs = performance.now();
    const body = { key, units: estimate, kind: "load" };
    const admitted = await client.call({ method: "POST", path: "/jobs", token, body });
    if (isRefusal(admitted)) {
      tally.refused++;
      return;
    }
    if (admitted.status !== 201 && admitted.status !== 200) {
      throw new Error(answerFault({ method: "POST", path: "/jobs", token }, admitted));
    }
    tally.startMs.push(performance.now() - askedAtMs);
    tally.started++;
    await spend(client, token, admitted.body.job, splitEvenly(estimate, Math.min(charges, estimate)));
  } catch (error) {
    tally.failed++;
    if (tally.faults.length < FAULTS_KEPT) tally.faults.push(`${key}: ${faultText(error)}`);
    if (!(error instanceof Error)) throw error;
  }
}

/**
 * @param {ApiClient} client
 * @param {string} token
 * @param {{id: string, fence: number}} job
 * @param {readonly number[]} steps
 */
async function spend(client, token, { id, fence }, steps) {
  for (const [index, units] of steps.entries()) {
    /** @type {Call} */
    const charge = {
      method: "POST",
      path: `/jobs/${id}/charge`,
      token,
      body: { step: index + 1, units, fence },
    };
    const charged = await client.call(charge);
    if (charged.status !== 200) throw new Error(answerFault(charge, charged));
    if (charged.body.capped === true) throw new Error(`step ${index + 1} was capped inside its own estimate`);
  }
  /** @type {Call} */
  const settle = { method: "POST", path: `/jobs/${id}/settle`, token, body: { outcome: "completed", fence } };
  const settled = await client.call(settle);
  if (settled.status !== 200) throw new Error(answerFault(settle, settled));
  if (settled.body.job.status !== "completed") throw new Error(`the job ended as ${settled.body.job.status}`);
}

/**
 * A refusal the gate gave on purpose, with its code: the limit (402) or the rate (429).
 * @param {Answer} answer
 */
function isRefusal({ status, body }) {
  return (status === 402 || status === 429) && typeof body === "object" && body !== null && "code" in body;
}

/** @param {unknown} error */
function faultText(error) {
  if (error instanceof ConnectionError) return error.message;
  return error instanceof Error ? error.message : String(error);
}

/**
 * Calls `work` with 0 … count - 1, at most `concurrency` at a time, until done or `stopped()`.
 * @param {number} count
 * @param {number} concurrency
 * @param {(index: number) => Promise<void>} work
 * @param {() => boolean} [stopped]
 */
export async function inParallel(count, concurrency, work, stopped = () => false) {
  let next = 0;
  const lane = async () => {
    while (next < count && !stopped()) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, lane));
}
