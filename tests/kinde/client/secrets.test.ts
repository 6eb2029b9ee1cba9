import { inspect } from "node:util";
import { expect, test, vi } from "vitest";
import type { KindeClient } from "../../../lib/kinde/client.ts";
import {
  ENTITLEMENTS_PATH,
  METER_PATH,
  SECRET,
  TOKEN,
  TOKEN_PATH,
  USER_PATH,
  tokenBody,
  useBench,
} from "./fixtures.ts";
import { cut, cutInside, json, silent, type Step } from "./scripted-server.ts";

const bench = useBench();

/** Everything a server could know or guess of us, thrown back at us in every place an answer has. */
const echo = { message: SECRET, code: SECRET, error: SECRET, error_description: `${SECRET} ${TOKEN}` };
const echoes = {
  ...echo,
  errors: [echo, { code: TOKEN, message: TOKEN }],
  access_token: 7,
  id: TOKEN,
  usage: echo,
};

const STEPS: [name: string, step: Step][] = [
  ["cut", cut],
  ["cut inside", cutInside],
  ["silent", silent],
  ...[200, 400, 401, 403, 404, 409, 422, 429, 500].map((status): [string, Step] => [
    `${status} with an echo`,
    json(status, echoes),
  ]),
  ["an echo as text", (response) => response.writeHead(200).end(`${SECRET} ${TOKEN}`)],
  ["an echo as an object of errors", json(400, { errors: { code: TOKEN, message: SECRET } })],
  [
    "an echo in the redirect",
    (response) => response.writeHead(302, { location: `http://127.0.0.1:1/${SECRET}` }).end(),
  ],
  [
    "an echo in names of fields",
    json(200, { [SECRET]: { [TOKEN]: 1 }, entitlements: [{ [TOKEN]: SECRET }] }),
  ],
];

const CALLS: [name: string, call: (client: KindeClient) => Promise<unknown>][] = [
  ["findCustomer", (client) => client.findCustomer({ userId: "kp_1" })],
  ["readEntitlements", (client) => client.readEntitlements({ customerId: "customer_1" })],
  ["readAgreements", (client) => client.readAgreements({ customerId: "customer_1" })],
  ["writeMeter", (client) => client.writeMeter({ agreementId: "a", featureKey: "f", totalUnits: 1 })],
  ["readMeter", (client) => client.readMeter({ agreementId: "a", featureKey: "f", allCycles: true })],
];

const options = { callTimeoutMs: 200, attemptsMax: 1 };

/** Runs the call with every way to print spied on, and returns all that came out of it. */
async function everythingSaid(run: () => Promise<unknown>): Promise<string> {
  const methods = ["log", "info", "warn", "error", "debug", "trace"] as const;
  const spies = methods.map((method) => vi.spyOn(console, method).mockImplementation(() => {}));
  const outcome = await run().catch((thrown: unknown) => thrown);
  const printed = spies.flatMap((spy) => spy.mock.calls);
  vi.restoreAllMocks();
  expect(printed).toEqual([]);
  return inspect(outcome, { depth: null, showHidden: true });
}

test.each(STEPS)("the API answers %s: neither secret nor token comes out", async (_name, step) => {
  bench.server.always(TOKEN_PATH, tokenBody());
  for (const path of [ENTITLEMENTS_PATH, "/api/v1/billing/agreements", METER_PATH, USER_PATH]) {
    bench.server.always(path, step);
  }
  for (const [name, call] of CALLS) {
    const said = `${name}: ${await everythingSaid(() => call(bench.client(options)))}`;
    expect(said).toContain("kind:");
    expect(said).not.toMatch(/canary/i);
  }
});

test.each(STEPS)("the token endpoint answers %s: neither secret nor token comes out", async (_name, step) => {
  bench.server.always(TOKEN_PATH, step);
  const said = await everythingSaid(() =>
    bench.client(options).readEntitlements({ customerId: "customer_1" }),
  );
  expect(said).toContain("kind: 'failed'");
  expect(said).not.toMatch(/canary/i);
});

test.each<[name: string, thrown: unknown]>([
  ["an error that quotes the header", new TypeError(`invalid header value: Bearer ${TOKEN}`)],
  ["an error with a cause", new TypeError("fetch failed", { cause: new Error(`${SECRET} ${TOKEN}`) })],
  [
    "a refused connection that tells all",
    new TypeError(SECRET, { cause: { code: "ECONNREFUSED", token: TOKEN } }),
  ],
  ["text", `${SECRET} ${TOKEN}`],
])("fetch throws %s: neither secret nor token comes out", async (_name, thrown) => {
  // oxlint-disable-next-line prefer-promise-reject-errors -- a runtime may throw anything
  const fetch = (() => Promise.reject(thrown)) as typeof globalThis.fetch;
  for (const [, call] of CALLS) {
    expect(await everythingSaid(() => call(bench.client({ ...options, fetch })))).not.toMatch(/canary/i);
  }
});

test("a client that is printed shows neither secret nor token", async () => {
  bench.server.always(TOKEN_PATH, tokenBody());
  const client = bench.client();
  expect(inspect(client, { depth: null, showHidden: true }) + JSON.stringify(client)).not.toMatch(/canary/i);
});
