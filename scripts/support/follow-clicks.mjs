// The clicks of a load run: follows one short link over kept-alive connections as a browser would, and reads back
// which of its clicks the ledger has.
import http from "node:http";
import https from "node:https";
import { CliError } from "./cli.mjs";

/**
 * @typedef {object} ClickTally
 * @property {number} sent
 * @property {Set<number>} redirected the numbers of the clicks that were answered 302
 * @property {number[]} answerMs from sending a click to having its whole answer, of each redirected one
 * @property {string[]} faults one line for each of the first other answers
 */

/**
 * @typedef {{key: string, units: number, origin: {kind: string, referrer?: string | null}}} EntryLine
 * @typedef {{rows: number, billable: number, numbers: Set<number>}} Recorded  of this run alone
 */

/** Enough to see what goes wrong without a line for every click. */
const FAULTS_KEPT = 5;
const TIMEOUT_CODE = "ETIMEDOUT";

/** As a browser sends them. Agents of tools count as bots. */
const BROWSER_HEADERS = {
  "user-agent":
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
  accept: "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
  "accept-language": "en-GB,en;q=0.9",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};

/** @returns {ClickTally} */
export function emptyClickTally() {
  return { sent: 0, redirected: new Set(), answerMs: [], faults: [] };
}

/**
 * Where each click says it comes from. The key of a click is made by the server, so this is what tells in the ledger
 * which of a run's clicks a row is.
 * @param {string} runId
 */
export function refererPrefix(runId) {
  return `https://load.example/${runId}/`;
}

/**
 * @param {{url: string, connections: number, timeoutMs: number}} options
 */
export function createFollower({ url, connections, timeoutMs }) {
  const transport = url.startsWith("https:") ? https : http;
  const agent = new transport.Agent({
    keepAlive: true,
    maxSockets: connections,
    maxFreeSockets: connections,
    noDelay: true,
  });
  /**
   * @param {string} path
   * @param {Record<string, string>} headers
   * @param {(response: http.IncomingMessage) => void} onResponse
   * @returns {Promise<void>} resolves at the end of the answer
   */
  const get = (path, headers, onResponse) =>
    new Promise((resolve, reject) => {
      const request = transport.get(`${url}${path}`, { agent, headers }, (response) => {
        onResponse(response);
        response.once("end", () => {
          clearTimeout(timer);
          resolve();
        });
        response.once("error", fail);
      });
      const timer = setTimeout(() => {
        request.destroy(Object.assign(new Error("timeout"), { code: TIMEOUT_CODE }));
      }, timeoutMs);
      /** @param {Error} error */
      function fail(error) {
        clearTimeout(timer);
        reject(error);
      }
      request.once("error", fail);
    });

  return {
    close: () => agent.destroy(),

    /**
     * Opens every connection with a request that is no click, before the clock starts: see load.mjs.
     * @param {number} count
     */
    async open(count) {
      await Promise.all(
        Array.from({ length: count }, () => get("/api/health", {}, (response) => response.resume())),
      );
    },

    /**
     * Sends one click. It is never sent twice: the second would count as well.
     * @param {ClickTally} tally
     * @param {{code: string, runId: string, number: number}} click
     */
    async follow(tally, { code, runId, number }) {
      let status = 0;
      const referer = `${refererPrefix(runId)}${number}`;
      const sentAtMs = performance.now();
      tally.sent++;
      try {
        await get(`/${code}`, { ...BROWSER_HEADERS, referer }, (response) => {
          status = response.statusCode ?? 0;
          response.resume();
        });
        if (status !== 302) throw new Error(`answered ${status}`);
        tally.answerMs.push(performance.now() - sentAtMs);
        tally.redirected.add(number);
      } catch (error) {
        if (tally.faults.length < FAULTS_KEPT) tally.faults.push(`click ${number}: ${faultText(error)}`);
      }
    },

    /**
     * The rows of this run in a cycle, from the export, which is read line by line and never held.
     * @param {{cycle: string, token: string, runId: string}} from
     * @param {Recorded} recorded what is found is added to it
     */
    async readRows({ cycle, token, runId }, recorded) {
      const prefix = refererPrefix(runId);
      const path = `/api/v1/usage/entries?format=ndjson&feature=clicks&all=true&cycle=${cycle}`;
      let status = 0;
      let rest = "";
      await get(path, { authorization: `Bearer ${token}` }, (response) => {
        status = response.statusCode ?? 0;
        response.setEncoding("utf8");
        response.on("data", (/** @type {string} */ chunk) => {
          const lines = (rest + chunk).split("\n");
          rest = lines.pop() ?? "";
          // An answer that is not 200 is a problem and holds no rows.
          if (status === 200) for (const line of lines) addRow(line, prefix, recorded);
        });
      });
      if (status !== 200) throw new CliError(`GET ${path} answered ${status}: ${rest.slice(0, 300)}`);
    },
  };
}

/**
 * @param {string} line
 * @param {string} prefix
 * @param {Recorded} recorded
 */
function addRow(line, prefix, recorded) {
  /** @type {EntryLine} */
  const { units, origin } = JSON.parse(line);
  if (!origin.referrer?.startsWith(prefix)) return;
  recorded.rows++;
  if (units > 0) recorded.billable++;
  recorded.numbers.add(Number(origin.referrer.slice(prefix.length)));
}

/** @param {unknown} error */
function faultText(error) {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? `no answer (${String(error.code)})` : error.message;
}
