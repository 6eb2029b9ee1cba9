import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { z } from "zod";
import * as requests from "../../lib/server/api/request-schemas.ts";

/**
 * The part of /api/v1 that the scripts talk to, in memory: enough gate to count against, and faults on demand.
 * Fails on any request it does not expect.
 */
export interface FakeGate {
  readonly url: string;
  /** Requests seen, as "POST /jobs". */
  readonly seen: string[];
  /** Asked before each request is handled: a status to answer instead, "lost_reply", or null for none. */
  fault: (method: string, path: string) => number | "lost_reply" | null;
  /** Charges every step twice, as a broken gate would. */
  chargesTwice: boolean;
  close(): Promise<void>;
}

interface Job {
  id: string;
  status: string;
  fence: number;
  step: number;
  leaseMs: number;
  heldUnits: number;
  usedUnits: number;
  returnedUnits: number;
}

interface Account {
  limitUnits: number;
  usedUnits: number;
  jobsPerMinute: number;
  jobs: Map<string, Job>;
}

/** Every field that some request has. What a request leaves out is not read for it. */
interface Body {
  key: string;
  units: number;
  step: number;
  fence: number;
  leaseMs?: number;
  outcome: string;
  takeOver?: boolean;
  limitUnits: number;
  jobsPerMinute?: number;
}

const OPERATOR = "hf_op_test";

/** What the real API takes: a script that sends anything else would get a 400 there. */
const BODIES: readonly (readonly [path: RegExp, schema: z.ZodType])[] = [
  [/^\/accounts$/, requests.accountBody],
  [/^\/accounts\/\w+\/keys$/, requests.apiKeyBody],
  [/^\/jobs$/, requests.admitBody],
  [/^\/jobs\/\w+\/charge$/, requests.chargeBody],
  [/^\/jobs\/\w+\/heartbeat$/, requests.heartbeatBody],
  [/^\/jobs\/\w+\/settle$/, requests.settleBody],
];

export async function startFakeGate(port = 0): Promise<FakeGate> {
  const accounts = new Map<string, Account>();
  const server = createServer();
  const gate: FakeGate = {
    url: "",
    seen: [],
    fault: () => null,
    chargesTwice: false,
    close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve()))),
  };
  server.on("request", (request, response) => void serve(gate, accounts, request, response));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return Object.assign(gate, { url: `http://localhost:${portOf(server)}` });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

async function serve(
  gate: FakeGate,
  accounts: Map<string, Account>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? "").replace("/api/v1", "");
  const method = request.method ?? "";
  gate.seen.push(`${method} ${path}`);
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const given: unknown = text === "" ? {} : JSON.parse(text);
  const checked = BODIES.find(([form]) => form.test(path))?.[1].safeParse(given);
  if (checked?.success === false) throw new Error(`${method} ${path}: ${checked.error.message}`);
  const fault = gate.fault(method, path);
  const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
  const [status, body] =
    typeof fault === "number"
      ? [fault, { code: "test_fault", detail: "made by the test" }]
      : answer(gate, accounts, token, method, path, given as Body);
  // Done, but the caller never hears of it.
  if (fault === "lost_reply") {
    request.socket.destroy();
    return;
  }
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function answer(
  gate: FakeGate,
  accounts: Map<string, Account>,
  token: string,
  method: string,
  path: string,
  body: Body,
): [number, object] {
  if (token === OPERATOR) return answerOperator(accounts, method, path, body);
  const account = accounts.get(token);
  if (!account) return [401, { code: "unauthorized", detail: "A valid API key is needed." }];
  const [, action] = /^\/jobs\/[^/]+\/(\w+)$/.exec(path) ?? [];
  const job = [...account.jobs.values()].find(({ id }) => path.startsWith(`/jobs/${id}/`));
  if (method === "GET" && path === "/usage") return [200, usageOf(account)];
  if (method === "POST" && path === "/jobs") return admit(account, body);
  if (!job) throw new Error(`unexpected request ${method} ${path}`);
  if (job.status !== "running" && action === "settle") return [200, { job, replayed: true }];
  if (job.status !== "running")
    return [409, { code: "not_running", detail: `The job has ended as ${job.status}.` }];
  if (action !== "heartbeat" && body.fence !== job.fence) {
    return [409, { code: "lease_lost", detail: "Another worker has taken the job over." }];
  }
  if (action === "charge") return charge(account, job, body.units * (gate.chargesTwice ? 2 : 1), body.step);
  if (action === "settle") return [200, { job: end(job, body.outcome), replayed: false }];
  if (body.takeOver) job.fence++;
  return [200, { job }];
}

function answerOperator(
  accounts: Map<string, Account>,
  method: string,
  path: string,
  body: Body,
): [number, object] {
  const [, id] = /^\/accounts\/(\w+)\/keys$/.exec(path) ?? [];
  if (method !== "POST") throw new Error(`unexpected request ${method} ${path}`);
  // In this fake an account's key is its id.
  if (id) return [201, { apiKey: {}, secret: id }];
  const accountId = `account${accounts.size}`;
  const { limitUnits, jobsPerMinute = 120 } = body;
  accounts.set(accountId, { limitUnits, jobsPerMinute, usedUnits: 0, jobs: new Map() });
  return [201, { account: { id: accountId } }];
}

function usageOf(account: Account): object {
  return {
    usedUnits: account.usedUnits,
    heldUnits: heldBy(account),
    limit: { limitUnits: account.limitUnits },
  };
}

function heldBy(account: Account): number {
  const running = [...account.jobs.values()].filter(({ status }) => status === "running");
  return running.reduce((sum, job) => sum + job.heldUnits - job.usedUnits, 0);
}

function admit(account: Account, body: Body): [number, object] {
  const { key, units, leaseMs = 120_000 } = body;
  const before = account.jobs.get(key);
  if (before) return [200, { job: before, replayed: true }];
  if (account.jobs.size >= account.jobsPerMinute) return [429, { code: "rate_limited", detail: "Too many." }];
  if (account.usedUnits + heldBy(account) + units > account.limitUnits) {
    return [402, { code: "limit_reached", detail: "They do not fit.", next: "Ask for less." }];
  }
  const id = `job${account.jobs.size}`;
  const job = {
    id,
    status: "running",
    fence: 1,
    step: 0,
    leaseMs,
    heldUnits: units,
    usedUnits: 0,
    returnedUnits: 0,
  };
  account.jobs.set(key, job);
  return [201, { job, replayed: false }];
}

function charge(account: Account, job: Job, units: number, step: number): [number, object] {
  if (step <= job.step) return [200, { job, chargedUnits: 0, capped: false, replayed: true }];
  const chargedUnits = Math.min(units, job.heldUnits - job.usedUnits);
  job.usedUnits += chargedUnits;
  account.usedUnits += units;
  job.step = step;
  const capped = chargedUnits < units;
  if (capped) end(job, "capped");
  return [200, { job, chargedUnits, capped, replayed: false }];
}

function end(job: Job, status: string): Job {
  job.status = status;
  job.returnedUnits = job.heldUnits - job.usedUnits;
  return job;
}
