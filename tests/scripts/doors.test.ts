import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../scripts/support/root.ts";
import { createApiClient, mustCall } from "../../scripts/support/api-client.mjs";
import { startTempNext, type TempNext } from "../../scripts/support/temp-next.ts";
import { startTempStack, type TempStack } from "../../scripts/support/temp-stack.ts";
import { firstBytes, readAnswers, sendAndCut, sendRaw, type RawAnswer } from "./raw-http.ts";

/** The same requests, byte for byte, to the front door of `npm start` and to a plain `next start` of the same build. */
const TIMEOUT_MS = 5 * 60_000;

let dataDir = "";
let stack: TempStack;
let plain: TempNext;
let key = "";
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "holdfast-doors-"));
  stack = await startTempStack(dataDir);
  plain = await startTempNext(dataDir, stack.convexUrl);
  const client = createApiClient({ url: stack.url, connections: 1, timeoutMs: 30_000 });
  const post = (path: string, body: object) =>
    mustCall(client, { method: "POST", path, token: stack.operatorKey, body });
  const { account } = await post("/accounts", { name: "doors", limitUnits: 10_000 });
  key = (await post(`/accounts/${account.id}/keys`, {})).secret;
  client.close();
}, TIMEOUT_MS);
afterAll(async () => {
  await plain?.stop();
  await stack?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

interface Sent {
  readonly method?: string;
  readonly version?: string;
  readonly host?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

const JSON_TYPE = "Content-Type: application/json";
const CHUNKED = "Transfer-Encoding: chunked";

/** A request as bytes. A body gets its length unless the headers say how it is framed. */
function request(target: string, sent: Sent = {}): string {
  const { method = "GET", version = "1.1", host = "Host: localhost", headers = [], body = "" } = sent;
  const isFramed = headers.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const length = body !== "" && !isFramed ? [`Content-Length: ${body.length}`] : [];
  const lines = [host, "Connection: close", `Authorization: Bearer ${key}`, ...headers, ...length];
  const head = lines.filter((line) => line !== "").join("\r\n");
  return `${method} ${target} HTTP/${version}\r\n${head}\r\n\r\n${body}`;
}

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

/**
 * What may differ: the instant, the header by which Next keeps answers to its own router apart, and how a body is
 * framed (Next always sends chunks, the fast lane the length).
 */
const MAY_DIFFER = new Set(["date", "vary", "content-length", "transfer-encoding"]);
/** Its value is another for each request; whether there is one is the same. */
const OF_THE_REQUEST = "x-request-id";

function comparable({ status, headers, body }: RawAnswer) {
  // Each page has a nonce of its own, in its policy and at its scripts.
  const nonce = /'nonce-([^']+)'/.exec(headers["content-security-policy"] ?? "")?.[1];
  const withoutNonce = (text: string) => (nonce === undefined ? text : text.replaceAll(nonce, "nonce"));
  const compared = Object.entries(headers)
    .filter(([name]) => !MAY_DIFFER.has(name))
    .map(([name, value]) => [name, name === OF_THE_REQUEST ? "one" : withoutNonce(value)] as const);
  // An age differs by the moment between the two requests.
  return {
    status,
    headers: Object.fromEntries(compared),
    body: withoutNonce(body).replace(/"limitAgeMs":\d+/, '"limitAgeMs":0'),
  };
}

async function bothDoors(bytes: string, method?: string): Promise<[front: RawAnswer[], next: RawAnswer[]]> {
  const front = readAnswers(await sendRaw(stack.ports.port, bytes), method);
  return [front, readAnswers(await sendRaw(plain.port, bytes), method)];
}

async function expectSame(bytes: string, method?: string): Promise<RawAnswer[]> {
  const [front, next] = await bothDoors(bytes, method);
  expect(front.map(comparable)).toEqual(next.map(comparable));
  return front;
}

const PREVIEW = '{"units":100}';

describe("both doors answer the same: status, headers, body", () => {
  const jobs = "/api/v1/jobs";
  test.each<[name: string, target: string, sent: Sent, status: number]>([
    ["a read", "/api/v1/usage", {}, 200],
    ["a read of HTTP/1.0 without a Host", "/api/v1/usage", { version: "1.0", host: "" }, 200],
    ["a large answer", "/api/v1/openapi.json", {}, 200],
    ["a read with a body", "/api/v1/usage", { body: "{}", headers: [JSON_TYPE] }, 200],
    ["HEAD", "/api/v1/usage", { method: "HEAD" }, 200],
    ["HEAD of nothing", "/api/v1/nothing", { method: "HEAD" }, 404],
    ["OPTIONS", jobs, { method: "OPTIONS" }, 204],
    ["a method that the path does not take", jobs, { method: "PUT" }, 405],
    ["a method that no path takes", jobs, { method: "PROPFIND" }, 400],
    ["a method that the health check does not take", "/api/health", { method: "POST" }, 405],
    ["no key", "/api/v1/usage", { headers: ["Authorization: "] }, 200],
    ["the bare prefix", "/api/v1", {}, 404],
    ["a neighbour of the prefix", "/api/v10/jobs", {}, 404],
    ["bytes beyond ASCII", "/api/v1/us\u00e4ge", {}, 400],
    ["another case", "/API/v1/usage", {}, 404],
    ["a Host that is no host", "/api/v1/usage", { host: "Host: a b<>" }, 200],
    ["an empty Host", "/api/v1/usage", { host: "Host:" }, 200],
    ["no Host", "/api/v1/usage", { host: "" }, 400],
    ["a query twice", "/api/v1/jobs?limit=1&limit=2", {}, 400],
    ["a query that is not known", "/api/v1/jobs?colour=%ff", {}, 400],
    ["a query with bytes beyond ASCII", "/api/v1/jobs?caf\u00e9=\u00fc", {}, 400],
    ["a long query", `/api/v1/jobs?cursor=${"a".repeat(8000)}`, {}, 400],
    ["headers without end", "/api/v1/usage", { headers: [`X-Long: ${"a".repeat(20_000)}`] }, 431],
    ["a body", `${jobs}/preview`, { method: "POST", headers: [JSON_TYPE], body: PREVIEW }, 200],
    ["no body", jobs, { method: "POST", headers: [JSON_TYPE, "Content-Length: 0"] }, 400],
    ["no length and no body", jobs, { method: "POST", headers: [JSON_TYPE] }, 400],
    ["no content type", jobs, { method: "POST", body: PREVIEW }, 400],
    ["no JSON", jobs, { method: "POST", headers: [JSON_TYPE], body: "{" }, 400],
    ["no UTF-8", jobs, { method: "POST", headers: [JSON_TYPE], body: '{"key":"\u00ff"}' }, 400],
    ["an unknown field", jobs, { method: "POST", headers: [JSON_TYPE], body: '{"__proto__":1}' }, 400],
    [
      "a body in chunks",
      `${jobs}/preview`,
      {
        method: "POST",
        headers: [JSON_TYPE, CHUNKED],
        body: chunk('{"uni') + chunk('ts":100}') + chunk(""),
      },
      200,
    ],
    [
      "chunks beyond the limit",
      jobs,
      { method: "POST", headers: [JSON_TYPE, CHUNKED], body: chunk("a".repeat(70_000)) + chunk("") },
      413,
    ],
    [
      "a body beyond the limit",
      jobs,
      { method: "POST", headers: [JSON_TYPE], body: "a".repeat(70_000) },
      413,
    ],
    [
      "a length and chunks at once",
      jobs,
      { method: "POST", headers: [JSON_TYPE, CHUNKED, "Content-Length: 3"], body: chunk("") },
      400,
    ],
    [
      "two lengths",
      jobs,
      { method: "POST", headers: [JSON_TYPE, "Content-Length: 1", "Content-Length: 2"], body: "{" },
      400,
    ],
    ["a page that is not there", "/nothing-here.txt", {}, 404],
  ])("%s", async (_name, target, sent, status) => {
    const [answer] = await expectSame(request(target, sent), sent.method);
    expect(answer?.status).toBe(status);
  });

  test("requests sent in one go are answered in their order", async () => {
    const keepAlive = (target: string, sent: Sent) =>
      request(target, sent).replace("Connection: close\r\n", "");
    const body = { method: "POST", headers: [JSON_TYPE], body: PREVIEW };
    const bytes = [
      keepAlive("/api/v1/usage", {}),
      keepAlive("/api/v1/jobs/preview", body),
      keepAlive("/api/v1/jobs", { ...body, body: "a".repeat(70_000) }),
      keepAlive("/nothing-here.txt", {}),
      request("/api/v1/nothing"),
    ].join("");
    const answers = await expectSame(bytes);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 413, 404, 404]);
  });

  test("a client that asks first whether to send its body is told to go on", async () => {
    const sent = { method: "POST", headers: [JSON_TYPE, "Expect: 100-continue"], body: PREVIEW };
    const answers = await expectSame(request("/api/v1/jobs/preview", sent));
    expect(answers.map(({ status }) => status)).toEqual([100, 200]);
  });

  test("a job started through one door goes on through the other", async () => {
    const [front, next] = [createDoor(stack.url), createDoor(plain.url)];
    const { job } = await front("/jobs", { key: "both", units: 100 });
    expect(await next("/jobs", { key: "both", units: 100 })).toMatchObject({ job, replayed: true });
    await next(`/jobs/${job.id}/charge`, { step: 1, units: 60, fence: job.fence });
    const settled = await front(`/jobs/${job.id}/settle`, { outcome: "completed" });
    expect(settled.job).toMatchObject({ status: "completed", usedUnits: 60, returnedUnits: 40 });
  });
});

function createDoor(url: string) {
  const client = createApiClient({ url, connections: 1, timeoutMs: 30_000 });
  return (path: string, body: object) => mustCall(client, { method: "POST", path, token: key, body });
}

describe("the front door alone", () => {
  test.each<[name: string, target: string, status: number, location?: string]>([
    ["a slash at the end", "/api/v1/usage/", 308, "/api/v1/usage"],
    ["a double slash", "//api/v1/usage?a=1", 308, "/api/v1/usage?a=1"],
    ["a double slash inside", "/api//v1/usage", 308, "/api/v1/usage"],
    ["dots for a folder", "/api/v1/x/../usage", 308, "/api/v1/usage"],
    ["dots out of the API", "/api/v1/../health/x", 308, "/api/health/x"],
    ["an escaped letter", "/api/v1/%75sage", 308, "/api/v1/usage"],
    ["an escaped slash", "/api/v1/jobs%2Fpreview", 404],
    ["broken escapes", "/api/v1/%E0%A4%A", 404],
    ["an absolute target", "http://example.test/api/v1/usage", 404],
    ["an image that Next would fetch here", "/_next/image?url=%2Fabc&w=640&q=75", 404],
  ])("has one spelling for each path: %s", async (_name, target, status, location) => {
    const [answer] = readAnswers(await sendRaw(stack.ports.port, request(target)));
    expect([answer?.status, answer?.headers["location"]]).toEqual([status, location]);
  });

  test("leads nowhere by what Next would take for another path", async () => {
    const buildId = readFileSync(join(ROOT, ".next", "BUILD_ID"), "utf8").trim();
    for (const path of ["api/v1/openapi", "api/auth/login", "abc"]) {
      const target = `/_next/data/${buildId}/${path}.json`;
      expect(readAnswers(await sendRaw(stack.ports.port, request(target)))).toMatchObject([{ status: 404 }]);
    }
  });

  test("refuses a body by its declared length before any of it has come", async () => {
    const headers = [JSON_TYPE, "Content-Length: 100000000"];
    const bytes = request("/api/v1/jobs", { method: "POST", headers });
    const answer = await firstBytes(stack.ports.port, bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("ignores a wish to upgrade, where Next would close the connection", async () => {
    const headers = ["Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"];
    const bytes = request("/api/v1/usage", { headers }).replace("close", "Upgrade, HTTP2-Settings, close");
    await fetch(`${stack.url}/`);
    expect(readAnswers(await sendRaw(stack.ports.port, bytes))).toMatchObject([{ status: 200 }]);
  });

  test("goes on when clients go: in their body, before their answer, with bytes that are no request", async () => {
    const headers = [JSON_TYPE, "Content-Length: 1000"];
    const half = request("/api/v1/jobs", { method: "POST", headers, body: '{"key":' });
    const chunked = request("/api/v1/jobs", {
      method: "POST",
      headers: [JSON_TYPE, CHUNKED],
      body: chunk("{"),
    });
    for (const bytes of [
      half,
      chunked,
      request("/api/v1/openapi.json"),
      "\u0000\u0001 nonsense\r\n\r\n",
      "GET",
    ]) {
      await Promise.all(Array.from({ length: 20 }, () => sendAndCut(stack.ports.port, bytes)));
    }
    expect(readAnswers(await sendRaw(stack.ports.port, request("/api/v1/usage")))).toMatchObject([
      { status: 200 },
    ]);
    expect(stack.output()).not.toContain("internal_error");
    expect(stack.output()).not.toContain("uncaught");
  });
});
