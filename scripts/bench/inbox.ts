// `npm run bench:inbox -- --json`: signed webhooks over HTTP to the endpoint, behind it the real functions on a
// throw-away engine in this process: how soon a delivery is answered, how soon events are applied, and what a flood of
// tokens with unknown keys costs the real ones.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CompactSign, exportJWK, generateKeyPair } from "jose";
import { cachedKeys } from "../../lib/inbox/keys.ts";
import { createFrontDoor } from "../../lib/server/front-door.ts";
import { createWebhooks } from "../../lib/server/webhooks/handler.ts";
import { helpText, parseOptions, runMain } from "../support/cli.mjs";
import { twoColumns } from "../support/progress.mjs";
import { quantile, rounded } from "../support/statistics.mjs";
import { openEngine, withTempFolder } from "../support/temp-engine.ts";
import { flatten, makeResult, saveResult } from "./results.ts";

const OPTIONS = {
  json: { type: "boolean", help: "print one JSON object as the last line" },
  save: { type: "boolean", help: "append to scripts/bench/results.json and rewrite RESULTS.md" },
} as const;

const EVENTS = 1_000;
const WARM_UP = 200;
const JUNK = 1_000;
const AT_A_TIME = 20;
const POLL_MS = 20;

await runMain("bench:inbox", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run bench:inbox -- [options]: billing webhooks", OPTIONS));
    return 0;
  }
  const figures = await withTempFolder((folder) => benchInbox(`${folder}/data.sqlite`));
  console.log(twoColumns(flatten(figures)));
  const result = makeResult("inbox", figures);
  if (options.save) saveResult(result);
  if (options.json) console.log(JSON.stringify(result));
  return 0;
});

async function benchInbox(dataFile: string) {
  const engine = await openEngine(dataFile);
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: "key-1", use: "sig" };
  let keyFetches = 0;
  const issuer = createServer((_, response) => {
    keyFetches += 1;
    response.setHeader("content-type", "application/json").end(JSON.stringify({ keys: [jwk] }));
  });
  const issuerUrl = await listening(issuer);
  const webhooks = createWebhooks({
    issuerUrl,
    keys: cachedKeys({ jwksUrl: `${issuerUrl}/.well-known/jwks.json`, elapsedMs: () => performance.now() }),
    deliver: ({ body, ...delivery }) => {
      const { serverSecret } = engine;
      const sent =
        body.kind === "event" && body.occurredAtNs !== null
          ? { ...body, occurredAtNs: { $integer: int64(body.occurredAtNs) } }
          : body;
      return engine.mutation("inbox:deliver", { serverSecret, body: sent as never, ...delivery });
    },
    log: (event) => console.error(JSON.stringify(event)),
  });
  const route = { matches: () => true, handle: webhooks.handle };
  const rest = () => Promise.reject(new Error("every path is the endpoint's"));
  const site = createServer(createFrontDoor({ routes: [route], siteUrl: undefined, headers: {}, rest }));
  const url = await listening(site);
  const tokens = (name: string, count: number, kid = "key-1") =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        new CompactSign(new TextEncoder().encode(JSON.stringify(eventOf(name, index))))
          .setProtectedHeader({ alg: "RS256", kid: kid === "key-1" ? kid : `${kid}-${index}` })
          .sign(privateKey),
      ),
    );
  /** Until nothing that was stored waits for the worker or is with it. */
  const applied = async (): Promise<void> => {
    for (const status of ["received", "processing"]) {
      for (;;) {
        const args = { ...engine.operator, status, cursor: null, limit: 1 };
        const { events } = await engine.query<{ events: unknown[] }>("inboxEvents:listAll", args);
        if (events.length === 0) break;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    }
  };
  try {
    await deliverAll(url, await tokens("warm", WARM_UP), AT_A_TIME);
    await applied();
    const startedMs = performance.now();
    const plain = await deliverAll(url, await tokens("event", EVENTS), AT_A_TIME);
    const storedMs = performance.now() - startedMs;
    await applied();
    const appliedMs = performance.now() - startedMs;
    const [junk, real] = [await tokens("junk", JUNK, "unknown"), await tokens("beside", EVENTS / 2)];
    const fetchesBefore = keyFetches;
    const [, beside] = await Promise.all([
      deliverAll(url, junk, AT_A_TIME),
      deliverAll(url, real, AT_A_TIME),
    ]);
    return {
      "answered 200, p50 ms": rounded(quantile(plain.timesMs, 0.5) ?? Number.NaN, 1),
      "answered 200, p99 ms": rounded(quantile(plain.timesMs, 0.99) ?? Number.NaN, 1),
      "deliveries a second": Math.round((EVENTS / storedMs) * 1_000),
      "1,000 events delivered and applied, s": rounded(appliedMs / 1_000, 2),
      "beside a flood of 1,000 unknown keys, p50 ms": rounded(quantile(beside.timesMs, 0.5) ?? Number.NaN, 1),
      "beside a flood of 1,000 unknown keys, p99 ms": rounded(
        quantile(beside.timesMs, 0.99) ?? Number.NaN,
        1,
      ),
      "key fetches of the flood": keyFetches - fetchesBefore,
      "real deliveries refused in it": beside.refused,
    };
  } finally {
    await Promise.all([closed(site), closed(issuer)]);
    await engine.close();
  }
}

/** A plan change of a customer of its own. */
function eventOf(name: string, index: number) {
  const at = new Date().toISOString();
  const customer = { user_id: `kp_${name}_${index}`, customer_id: `customer_${name}_${index}` };
  return {
    type: "customer.plan_changed",
    event_id: `event_${name}_${index}`,
    timestamp: at,
    event_timestamp: at,
    data: { ...customer, customer_type: "user", plan: { key: "customer_pro_plan" } },
  };
}

/** Posts all tokens, so many at a time. `refused` counts the answers that were not 200. */
async function deliverAll(
  url: string,
  tokens: readonly string[],
  atATime: number,
): Promise<{ timesMs: number[]; refused: number }> {
  const timesMs: number[] = [];
  let next = 0;
  let refused = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < tokens.length; index = next++) {
      const startedMs = performance.now();
      const response = await fetch(url, { method: "POST", body: tokens[index]! });
      await response.arrayBuffer();
      timesMs.push(performance.now() - startedMs);
      if (response.status !== 200) refused += 1;
    }
  };
  await Promise.all(Array.from({ length: atATime }, lane));
  return { timesMs, refused };
}

/** The engine is called with values as they travel: eight bytes, the lowest first. */
function int64(value: bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes.toString("base64");
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
