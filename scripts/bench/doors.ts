// `npm run bench:doors -- --json`: requests a second through the front door of `npm start` and through a plain
// `next start` of the same build, on one engine, 50 at a time. The doors take turns within a round.
import { createApiClient, type ApiClient } from "../support/api-client.mjs";
import { helpText, parseOptions, runMain } from "../support/cli.mjs";
import { twoColumns } from "../support/progress.mjs";
import { rounded } from "../support/statistics.mjs";
import { withTempFolder } from "../support/temp-engine.ts";
import { startTempNext } from "../support/temp-next.ts";
import { startTempStack } from "../support/temp-stack.ts";
import { httpAccounts } from "./gate-calls.ts";
import { AT_A_TIME, callsPerSecond, inRounds } from "./measure.ts";
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

const CONSTANTS = 2_000;
const ADMISSIONS = 1_000;
/** Enough for the code of both doors and of the engine to be compiled. */
const WARM_UP_CALLS = 2_000;

await runMain("bench:doors", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run bench:doors -- [options]: the front door beside Next.js", OPTIONS));
    return 0;
  }
  const rates = await withTempFolder((folder) => benchDoors(folder, options.rounds));
  const bare = rates["constant, Next.js"];
  const figures = {
    "requests a second": rates,
    "times the bare Next.js route": {
      "constant, front door": rounded(rates["constant, front door"] / bare, 2),
      "admission, Next.js": rounded(rates["admission, Next.js"] / bare, 2),
      "admission, front door": rounded(rates["admission, front door"] / bare, 2),
    },
  };
  console.log(twoColumns(flatten(figures)));
  const result = makeResult("doors", figures);
  if (options.save) saveResult(result);
  if (options.json) console.log(JSON.stringify(result));
  return 0;
});

async function benchDoors(folder: string, rounds: number) {
  const stack = await startTempStack(folder);
  const plain = await startTempNext(folder, stack.convexUrl);
  const clients = [stack.url, plain.url].map((url) =>
    createApiClient({ url, connections: AT_A_TIME, timeoutMs: 60_000 }),
  );
  try {
    const [front, next] = clients as [ApiClient, ApiClient];
    const admit = { front: await admitter(front, stack), next: await admitter(next, stack) };
    for (const [client, call] of [
      [front, admit.front],
      [next, admit.next],
    ] as const) {
      await callsPerSecond(WARM_UP_CALLS, () => constant(client));
      await callsPerSecond(WARM_UP_CALLS, (index) => call(`warm-${index}`));
    }
    return await inRounds(rounds, {
      "constant, Next.js": () => callsPerSecond(CONSTANTS, () => constant(next)),
      "constant, front door": () => callsPerSecond(CONSTANTS, () => constant(front)),
      "admission, Next.js": (round) => callsPerSecond(ADMISSIONS, (n) => admit.next(`${round}-${n}`)),
      "admission, front door": (round) => callsPerSecond(ADMISSIONS, (n) => admit.front(`${round}-${n}`)),
    });
  } finally {
    for (const client of clients) client.close();
    await plain.stop();
    await stack.stop();
  }
}

/** An answer that needs nothing behind the route: the bare path of the API, a short 404 of its own. */
async function constant(client: ApiClient): Promise<void> {
  const { status } = await client.call({ method: "GET", path: "", token: "hf_none" });
  if (status !== 404) throw new Error(`GET /api/v1 answered ${status}`);
}

/** Admissions on an account of this door's own, so that the doors do not share a budget row's history. */
async function admitter(client: ApiClient, { operatorKey }: { operatorKey: string }) {
  const account = await httpAccounts(client, operatorKey)("bench doors");
  return (key: string) => account.admit(key, 1);
}
