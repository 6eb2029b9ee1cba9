import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { beforeEach, expect, test } from "vitest";
import { ANSWER_BYTES_MAX } from "../../../lib/kinde/http.ts";
import type { KindeClientOptions } from "../../../lib/kinde/client.ts";
import { RETRY_AFTER_MS_MAX } from "../../../lib/kinde/back-off.ts";
import { ENTITLEMENTS_PATH, START_MS, emptyEntitlements, failed, useBench } from "./fixtures.ts";
import { cut, cutInside, json, silent, startScriptedServer, type Step } from "./scripted-server.ts";

const bench = useBench();
beforeEach(() => {
  bench.store.token = { accessToken: "good", expiresAtMs: START_MS + 3_600_000 };
});
const ask = (options?: Partial<KindeClientOptions>) =>
  bench.client(options).readEntitlements({ customerId: "customer_1" });
const GET = `GET ${ENTITLEMENTS_PATH}`;

test.each<[name: string, step: Step]>([
  ["a cut connection", cut],
  ["an answer cut inside", cutInside],
  ["500", json(500, {})],
  ["503 with a page of text", (response) => response.writeHead(503).end("<html>busy</html>")],
  ["429 without a header", json(429, {})],
])("a read goes on after %s", async (_name, step) => {
  bench.server.script(ENTITLEMENTS_PATH, step, step, emptyEntitlements);
  expect((await ask()).kind).toBe("read");
  expect(bench.slept).toEqual([150, 300]);
});

test("a read goes on after a call that timed out", async () => {
  bench.server.script(ENTITLEMENTS_PATH, silent, emptyEntitlements);
  expect((await ask({ callTimeoutMs: 1_000 })).kind).toBe("read");
});

test("the instant of a read is that of the try that was answered", async () => {
  bench.server.script(
    ENTITLEMENTS_PATH,
    (response) => {
      bench.clockMs += 700;
      json(500, {})(response);
    },
    emptyEntitlements,
  );
  expect(await ask()).toMatchObject({ kind: "read", sentAtMs: START_MS + 700 });
});

test.each<[name: string, step: Step, expected: object]>([
  ["cut", cut, { code: "unreachable", message: `${GET}: the connection was lost` }],
  ["cut inside", cutInside, { code: "unreachable", status: 200 }],
  ["silent", silent, { code: "timeout", message: `${GET}: no answer in 40 ms` }],
  [
    "500",
    json(500, { errors: [{ code: "INTERNAL" }] }),
    { code: "server_error", status: 500, errorCode: "INTERNAL" },
  ],
  ["429", json(429, {}), { code: "rate_limited", status: 429, retryAfterMs: null }],
])("a read that is always %s fails after the stated number of tries", async (_name, step, expected) => {
  bench.server.always(ENTITLEMENTS_PATH, step);
  const options = step === silent ? { callTimeoutMs: 40 } : {};
  const answer = await ask({ ...options, attemptsMax: 3 });
  expect(answer).toMatchObject({ kind: "failed", committed: "no", ...expected });
  expect(bench.slept).toHaveLength(2);
});

test.each<[name: string, step: Step, expected: object]>([
  [
    "403 with a list of errors",
    json(403, { errors: [{ code: "SCOPE_MISSING", message: "no" }] }),
    { code: "forbidden", errorCode: "SCOPE_MISSING", message: `${GET}: it answered 403 (SCOPE_MISSING)` },
  ],
  [
    "404 with an object",
    json(404, { errors: { code: "NOT_FOUND", message: "no" } }),
    { code: "not_found", errorCode: "NOT_FOUND" },
  ],
  ["400 without a body", json(400, undefined), { code: "rejected", errorCode: null }],
  ["400 with errors of another kind", json(400, { errors: "none" }), { code: "rejected", errorCode: null }],
  ["409 on a read", json(409, {}), { code: "rejected", status: 409 }],
  ["304", (response) => response.writeHead(304).end(), { code: "bad_answer", status: 304 }],
])("%s is not tried again", async (_name, step, expected) => {
  bench.server.script(ENTITLEMENTS_PATH, step);
  expect(await ask()).toMatchObject({ kind: "failed", committed: "no", ...expected });
  expect(bench.slept).toEqual([]);
});

test.each<[name: string, headers: Record<string, string>, waitMs: number]>([
  ["RateLimit-Reset", { "ratelimit-reset": "2" }, 2_000],
  ["Retry-After", { "retry-after": "3" }, 3_000],
  ["both, of which the longer counts", { "ratelimit-reset": "1", "retry-after": "3" }, 3_000],
  ["a fraction, rounded up", { "ratelimit-reset": "0.0015" }, 2],
  ["zero", { "ratelimit-reset": "0" }, 0],
  ["a date, which is not read", { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }, 0],
  ["a value that is none", { "ratelimit-reset": "soon" }, 0],
])("a 429 is waited out, and the spread on top: %s", async (_name, headers, waitMs) => {
  bench.server.script(ENTITLEMENTS_PATH, json(429, {}, headers), emptyEntitlements);
  expect((await ask()).kind).toBe("read");
  expect(bench.slept).toEqual([waitMs + 150]);
});

test("a wait that does not fit into the budget is left to the caller", async () => {
  bench.server.script(ENTITLEMENTS_PATH, json(429, {}, { "ratelimit-reset": "8" }));
  expect(await ask()).toEqual(
    failed({ code: "rate_limited", status: 429, retryAfterMs: 8_000, message: `${GET}: it answered 429` }),
  );
  expect(bench.slept).toEqual([]);
});

test("time that passed counts against the budget", async () => {
  bench.server.script(
    ENTITLEMENTS_PATH,
    json(429, {}, { "ratelimit-reset": "4" }),
    json(429, {}, { "ratelimit-reset": "4" }),
  );
  expect(await ask()).toMatchObject({ code: "rate_limited", retryAfterMs: 4_000 });
  expect(bench.slept).toEqual([4_150]);
});

test("a wait in a wrong unit is cut to an hour", async () => {
  bench.server.script(ENTITLEMENTS_PATH, json(429, {}, { "ratelimit-reset": "1790000000" }));
  expect(await ask()).toMatchObject({ retryAfterMs: RETRY_AFTER_MS_MAX });
});

test("the wait grows and is spread over its upper half", async () => {
  for (const [random, waits] of [
    [0, [100, 200, 400]],
    [0.999, [200, 400, 800]],
  ] as const) {
    bench.slept.length = 0;
    bench.server.script(ENTITLEMENTS_PATH, cut, cut, cut, emptyEntitlements);
    await ask({ random: () => random });
    expect(bench.slept).toEqual(waits);
  }
});

test("a port where nobody listens is unreachable", async () => {
  const idle = createServer();
  await new Promise<void>((resolve) => {
    idle.listen(0, "127.0.0.1", resolve);
  });
  const { port } = idle.address() as AddressInfo;
  await new Promise((resolve) => {
    idle.close(resolve);
  });
  const issuerUrl = `http://127.0.0.1:${port}`;
  expect(await ask({ issuerUrl })).toEqual(failed({ code: "unreachable", message: `${GET}: no connection` }));
});

test("a redirect is not followed, least of all to another host", async () => {
  const other = await startScriptedServer();
  bench.server.script(ENTITLEMENTS_PATH, (response) =>
    response.writeHead(302, { location: `${other.url}/api/v1/billing/entitlements` }).end(),
  );
  expect(await ask()).toEqual(
    failed({
      code: "bad_answer",
      status: 302,
      message: `${GET}: it answered 302, and redirects are not followed`,
    }),
  );
  expect(other.seen).toEqual([]);
  await other.close();
});

test("an answer larger than the maximum is dropped while it arrives", async () => {
  let written = 0;
  bench.server.script(ENTITLEMENTS_PATH, (response) => {
    const chunk = " ".repeat(64 * 1024);
    const write = (): void => {
      while (!response.destroyed && written < 100 * ANSWER_BYTES_MAX) {
        written += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", write);
      }
    };
    write();
  });
  expect(await ask()).toEqual(
    failed({
      code: "bad_answer",
      status: 200,
      message: `${GET}: the answer is larger than ${ANSWER_BYTES_MAX} bytes`,
    }),
  );
  expect(written).toBeLessThan(10 * ANSWER_BYTES_MAX);
});

test("the timeout covers the body, not only the head", async () => {
  bench.server.script(ENTITLEMENTS_PATH, (response) => {
    response.writeHead(200).write('{"code":');
  });
  expect(await ask({ callTimeoutMs: 500, attemptsMax: 1 })).toMatchObject({ code: "timeout" });
});

test("a fetch that ignores its signal is not waited for", async () => {
  const stuck = () => new Promise<Response>(() => {});
  expect(await ask({ fetch: stuck, callTimeoutMs: 20, attemptsMax: 1 })).toMatchObject({
    code: "timeout",
  });
});

test("characters that are split between two packets are read whole", async () => {
  const body = Buffer.from(JSON.stringify({ ...emptyEntitlements, plans: [{ code: "plän" }] }));
  const middle = body.indexOf(0xc3) + 1;
  bench.server.script(ENTITLEMENTS_PATH, (response) => {
    response.write(body.subarray(0, middle), () => response.end(body.subarray(middle)));
  });
  expect(await ask()).toMatchObject({ plans: [{ key: "plän" }] });
});
