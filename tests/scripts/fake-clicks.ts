import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * The part of Holdfast that the click mode of load.mjs talks to, in memory: short links, their rows, report and
 * reconciliation. Fails on any request that it does not expect.
 */
export interface FakeClicks {
  readonly url: string;
  /** API requests seen, as "POST /links". */
  readonly seen: string[];
  /** What becomes of the nth click, from 1. Left to itself it is redirected and booked once. */
  fate: (number: number) => "booked" | "lost" | "twice" | "refused" | "cut";
  /** Agents of the clicks. */
  readonly agents: Set<string>;
  /** Reads of the rows that pass before a click is in them, as a writer behind the answers makes it. */
  readsBehind: number;
  /** Units that the meter has beyond the ledger. */
  drift: number;
  close(): Promise<void>;
}

export const OPERATOR = "hf_op_test";
const TOKEN = "hf_live_fake";
const CYCLE = "2026-10";

export async function startFakeClicks(): Promise<FakeClicks> {
  const referrers: string[] = [];
  let clicks = 0;
  let reads = 0;
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/api/")) api(request, response);
    else follow(request, response);
  });

  function follow(request: IncomingMessage, response: ServerResponse): void {
    if (request.url !== "/sale") throw new Error(`unexpected link ${request.url}`);
    clicks += 1;
    fake.agents.add(request.headers["user-agent"] ?? "");
    const fate = fake.fate(clicks);
    const referrer = request.headers.referer ?? "";
    if (fate !== "lost" && fate !== "refused") referrers.push(referrer);
    if (fate === "twice") referrers.push(referrer);
    if (fate === "cut") request.socket.destroy();
    else if (fate === "refused") response.writeHead(503).end("busy");
    else response.writeHead(302, { location: "https://example.com/" }).end();
  }

  function api(request: IncomingMessage, response: ServerResponse): void {
    const path = (request.url ?? "").replace("/api/v1", "").replace("/api/", "/");
    const line = `${request.method} ${path}`;
    fake.seen.push(line);
    request.resume();
    const token = request.headers.authorization;
    const expected = line.includes("/links") && !line.includes("/ops/") ? TOKEN : null;
    if (expected !== null && token !== `Bearer ${expected}`) throw new Error(`wrong key for ${line}`);
    if (line.includes("format=ndjson")) {
      reads += 1;
      const rows = reads > fake.readsBehind ? referrers : referrers.slice(0, -1);
      const lines = rows.map((referrer, index) => ({
        key: `k${index}`,
        units: 1,
        origin: { kind: "click", referrer },
      }));
      // A row of an earlier run of the same link.
      lines.push({
        key: "old",
        units: 1,
        origin: { kind: "click", referrer: "https://load.example/other/1" },
      });
      response.writeHead(200).end(lines.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
      return;
    }
    const body = answers()[line];
    if (body === undefined) throw new Error(`unexpected request ${line}`);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  function answers(): Record<string, object> {
    const ledgerUnits = referrers.length;
    const meterUnits = ledgerUnits + fake.drift;
    const verdict = fake.drift === 0 ? "match" : "over_billed";
    const cause = fake.drift === 0 ? null : "The meter moved without a report from this app.";
    const meter = {
      feature: "clicks",
      cycle: CYCLE,
      ledgerUnits,
      sentUnits: ledgerUnits,
      meterUnits,
      verdict,
      cause,
    };
    return {
      "GET /health": {},
      "GET /usage": { accountId: "a1" },
      "GET /ops/links?code=sale": { accountId: "a1", linkId: "l1" },
      "POST /accounts": { account: { id: "a1" } },
      "POST /accounts/a1/keys": { apiKey: { id: "k1" }, secret: TOKEN },
      "DELETE /accounts/a1/keys/k1": {},
      "POST /links": { link: { id: "l1", code: "sale" } },
      "GET /usage/entries?limit=1": { cycle: { name: CYCLE }, entries: [], cursor: null },
      "POST /ops/report": {},
      "POST /ops/reconcile": { meters: [{ ...meter, feature: "tokens", verdict: "under_billed" }, meter] },
    };
  }

  const fake: FakeClicks = {
    url: "",
    seen: [],
    fate: () => "booked",
    agents: new Set(),
    readsBehind: 0,
    drift: 0,
    close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve()))),
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(fake, { url: `http://localhost:${(server.address() as AddressInfo).port}` });
}
