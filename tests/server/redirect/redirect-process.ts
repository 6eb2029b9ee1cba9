// The redirects as a process of their own, so that a test can kill it. Links and ledger are the test's, over HTTP:
// GET /links/{code} and POST /clicks on CONVEX_URL. Prints "listening on {port}".
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createRedirects } from "../../../lib/server/redirect/redirects.ts";
import { after } from "../../../lib/server/redirect/timers.ts";
import type { ResolvedLink } from "../../../lib/server/redirect/link.ts";
import type { WriteOutcome } from "../../../lib/server/redirect/click.ts";

const [convexUrl = "", folder = "", fsync = ""] = process.argv.slice(2);

async function ask<T>(path: string, body?: unknown): Promise<T> {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(`${convexUrl}${path}`, init);
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return (await response.json()) as T;
}

const redirects = createRedirects({
  readLink: (code) => ask<ResolvedLink | null>(`/links/${code}`),
  writeClicks: (batch) => ask<WriteOutcome>("/clicks", batch),
  classify: ({ headers }) => ({
    class: "billable",
    rule: "no rule against it",
    referrer: headers.get("referer"),
    agent: headers.get("user-agent"),
  }),
  isCode: () => true,
  isAllowedTarget: () => true,
  spool: { folder, fsync: fsync === "fsync" },
  nowMs: Date.now,
  elapsedMs: () => performance.now(),
  after,
  random: Math.random,
  newKey: () => randomBytes(16).toString("hex"),
  log: (event) => void process.stderr.write(`${JSON.stringify(event)}\n`),
});

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { status, headers, text } = await redirects.handle({
    method: incoming.method ?? "GET",
    url: `http://localhost${incoming.url}`,
    headers: { get: (name) => incoming.headers[name]?.toString() ?? null },
  });
  outgoing.writeHead(status, headers).end(text);
}

const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
process.once("SIGTERM", () => {
  server.close(() => void redirects.close().then(() => process.exit(0)));
});
server.listen(0, "127.0.0.1", () => {
  console.log(`listening on ${(server.address() as AddressInfo).port}`);
});
