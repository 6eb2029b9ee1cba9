// `npm run bench:doors -- --json`: requests a second of the gate through the front door of `npm start` and through a
// plain `next start` of the same build, on one engine, beside a bare Next.js route that answers a constant 302. Fifty at
// a time, by the same client; all take turns within a round.
import { createApiClient, mustCall, type ApiClient } from "../support/api-client.mjs";
import { helpText, parseOptions, runMain } from "../support/cli.mjs";
import { twoColumns } from "../support/progress.mjs";
import { rounded } from "../support/statistics.mjs";
import { withTempFolder } from "../support/temp-engine.ts";
import { startTempNext } from "../support/temp-next.ts";
import { startTempStack } from "../support/temp-stack.ts";
import { startBareNext } from "./bare-next.ts";
import { AT_A_TIME, inRounds } from "./measure.ts";
import { followMany, postText, sendMany, type Sent } from "./raw-http.ts";
import { flatten, makeResult, saveResult } from "./results.ts";

const OPTIONS = {
  rounds: {
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: 5,
    help: "rounds; figures are their medians",
  },
  json: { type: "boolean", help: "print one JSON object as the last line" },
  save: { type: "boolean", help: "append to scripts/bench/results.json and rewrite RESULTS.md" },
} as const;

const CONSTANTS = 4_000;
const GATE_CALLS = 3_000;
const MANY_ACCOUNTS = 50;
/** The longest there is: a busy machine takes a while from an admission to its charge. */
const LEASE_MS = 120_000;
const ROOMY = { limitUnits: 1_000_000_000_000, jobsPerMinute: 10_000_000 };
/** Enough for the code of all servers and of the engine to be compiled. */
const WARM_UP_CALLS = 5_000;

await runMain("bench:doors", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run bench:doors -- [options]: the front door beside Next.js", OPTIONS));
    return 0;
  }
  const rates = await withTempFolder((folder) => benchDoors(folder, options.rounds));
  const { "bare Next.js route": bare, ...others } = rates;
  const times = Object.entries(others).map(([name, rate]) => [name, rounded(rate / bare, 2)]);
  const figures = {
    "requests a second": rates,
    "times the bare Next.js route": Object.fromEntries(times) as Record<string, number>,
  };
  console.log(twoColumns(flatten(figures)));
  const result = makeResult("doors", figures);
  if (options.save) saveResult(result);
  if (options.json) console.log(JSON.stringify(result));
  return 0;
});

async function benchDoors(folder: string, rounds: number) {
  const bare = await startBareNext();
  const stack = await startTempStack(folder);
  const plain = await startTempNext(folder, stack.convexUrl);
  try {
    const client = createApiClient({ url: stack.url, connections: AT_A_TIME, timeoutMs: 60_000 });
    const keys = await makeKeys(client, stack.operatorKey, 2 + MANY_ACCOUNTS);
    client.close();
    const [frontKey, nextKey, ...manyKeys] = keys as [string, string, ...string[]];
    const front = gateAt(stack.ports.port, [frontKey]);
    const next = gateAt(Number(new URL(plain.url).port), [nextKey]);
    const many = gateAt(stack.ports.port, manyKeys);
    await followMany({ port: bare.port, path: "/code" }, WARM_UP_CALLS, AT_A_TIME);
    for (const gate of [front, next, many]) {
      await gate.constant(WARM_UP_CALLS);
      await gate.admit("warm", WARM_UP_CALLS);
    }
    return await inRounds(rounds, {
      "bare Next.js route": async () =>
        rate(await followMany({ port: bare.port, path: "/code" }, CONSTANTS, AT_A_TIME)),
      "constant, Next.js": async () => rate(await next.constant(CONSTANTS)),
      "constant, front door": async () => rate(await front.constant(CONSTANTS)),
      "admission, Next.js": async (round) => rate(await next.admit(`r${round}`, GATE_CALLS)),
      "admission, front door": async (round) => rate(await front.admit(`r${round}`, GATE_CALLS)),
      "charge, front door": async (round) => {
        const { bodies } = await front.admit(`c${round}`, GATE_CALLS);
        return rate(await front.charge(bodies));
      },
      "admission on 50 accounts, front door": async (round) =>
        rate(await many.admit(`r${round}`, GATE_CALLS)),
    });
  } finally {
    await bare.stop();
    await plain.stop();
    await stack.stop();
  }
}

function rate({ seconds, answerMs }: Sent): number {
  return answerMs.length / seconds;
}

/** The gate behind one door, asked in the name of each key in turn. */
function gateAt(port: number, keys: readonly string[]) {
  const send = (count: number, status: number, requestOf: (index: number) => string) =>
    sendMany({ port, count, atATime: AT_A_TIME, status, requestOf });
  const keyOf = (index: number) => keys[index % keys.length]!;
  return {
    /** An answer that needs nothing behind the route: the bare path of the API, a short 404 of its own. */
    constant: (count: number) => send(count, 404, (index) => postText("/api/v1", keyOf(index), {})),
    admit: (prefix: string, count: number) =>
      send(count, 201, (index) =>
        postText("/api/v1/jobs", keyOf(index), {
          key: `${prefix}-${index}`,
          units: 10,
          leaseMs: LEASE_MS,
        }),
      ),
    /** One step of each job that an admission answered with. */
    charge(admitted: readonly string[]) {
      const jobs = admitted.map((body) => (JSON.parse(body) as { job: { id: string; fence: number } }).job);
      return send(jobs.length, 200, (index) => {
        const { id, fence } = jobs[index]!;
        return postText(`/api/v1/jobs/${id}/charge`, keyOf(index), { step: 1, units: 1, fence });
      });
    },
  };
}

/** A key on each of so many accounts of their own. */
async function makeKeys(client: ApiClient, operatorKey: string, count: number): Promise<string[]> {
  const post = (path: string, body: object) =>
    mustCall(client, { method: "POST", path, token: operatorKey, body });
  return await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const { account } = await post("/accounts", { name: `bench doors ${index}`, ...ROOMY });
      const { secret } = await post(`/accounts/${account.id}/keys`, { name: "bench doors" });
      return secret as string;
    }),
  );
}
