// `npm run bench:redirect -- --json`: redirects a second and their times through the front door of `npm start`, every
// click recorded, beside a bare Next.js route that answers a constant 302; 20 and 100 at a time. The two take turns.
import { setTimeout as sleep } from "node:timers/promises";
import { createApiClient, mustCall, type ApiClient } from "../support/api-client.mjs";
import { CliError, helpText, parseOptions, runMain } from "../support/cli.mjs";
import { twoColumns } from "../support/progress.mjs";
import { median, quantile, rounded } from "../support/statistics.mjs";
import { withTempFolder } from "../support/temp-engine.ts";
import { startTempStack } from "../support/temp-stack.ts";
import { startBareNext } from "./bare-next.ts";
import { followMany } from "./raw-http.ts";
import { flatten, makeResult, saveResult } from "./results.ts";

const OPTIONS = {
  rounds: {
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: 5,
    help: "rounds; figures are their medians",
  },
  clicks: { type: "integer", minimum: 100, maximum: 1_000_000, default: 5000, help: "clicks of each run" },
  fsync: { type: "boolean", help: "with a spool that waits for the disk" },
  json: { type: "boolean", help: "print one JSON object as the last line" },
  save: { type: "boolean", help: "append to scripts/bench/results.json and rewrite RESULTS.md" },
} as const;

const AT_A_TIME = [20, 100] as const;
/** Enough for the code of both servers to be compiled. */
const WARM_UP_CLICKS = 3000;
/** Clicks are written behind their answers, and an engine on a busy machine may be a while behind. */
const DRAIN_TIMEOUT_MS = 300_000;
const DRAIN_ASK_MS = 250;

interface RunFigures {
  readonly "redirects a second": number;
  readonly "p50, ms": number;
  readonly "p99, ms": number;
}

interface Server {
  readonly name: string;
  readonly port: number;
  readonly path: string;
  clicks: number;
}

await runMain("bench:redirect", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run bench:redirect -- [options]: speed of redirects", OPTIONS));
    return 0;
  }
  const figures = await withTempFolder((folder) => measure(folder, options));
  const result = makeResult("redirect", figures);
  console.log(twoColumns(flatten(figures)));
  if (options.save) saveResult(result);
  if (options.json) console.log(JSON.stringify(result));
  return 0;
});

async function measure(folder: string, options: { rounds: number; clicks: number; fsync: boolean }) {
  const bareNext = await startBareNext();
  const stack = await startTempStack(folder, { more: options.fsync ? ["--spool-fsync"] : [] }).catch(
    async (error: unknown) => {
      await bareNext.stop();
      throw error;
    },
  );
  const client = createApiClient({ url: stack.url, connections: 1, timeoutMs: 60_000 });
  try {
    const link = await createLink(client, stack.operatorKey);
    const bare: Server = { name: "bare Next.js route", port: bareNext.port, path: "/code", clicks: 0 };
    const front: Server = { name: "front door", port: stack.ports.port, path: `/${link.code}`, clicks: 0 };
    const runs = new Map<string, RunFigures[]>();
    for (const server of [bare, front]) await run(server, WARM_UP_CLICKS, AT_A_TIME[1]);
    for (let round = 0; round < options.rounds; round += 1) {
      for (const atATime of AT_A_TIME) {
        for (const server of [bare, front]) {
          // What is written behind one run must not weigh on the next.
          await drained(client, link, front.clicks);
          const name = runName(server, atATime);
          runs.set(name, [...(runs.get(name) ?? []), await run(server, options.clicks, atATime)]);
        }
      }
    }
    const recorded = await drained(client, link, front.clicks);
    const medians = new Map([...runs].map(([name, each]) => [name, medianRun(each)]));
    return {
      ...Object.fromEntries(medians),
      "beside the bare route": Object.fromEntries(
        AT_A_TIME.flatMap((each) => beside(medians, bare, front, each)),
      ),
      clicks: { redirected: front.clicks, recorded },
    };
  } finally {
    client.close();
    await bareNext.stop();
    await stack.stop();
  }
}

interface Link {
  readonly id: string;
  readonly code: string;
  readonly token: string;
}

async function createLink(client: ApiClient, token: string): Promise<Link> {
  const post = (path: string, key: string, body: object) =>
    mustCall(client, { method: "POST", path, token: key, body }) as Promise<unknown>;
  const { account } = (await post("/accounts", token, { name: "bench redirect" })) as {
    account: { id: string };
  };
  const { secret } = (await post(`/accounts/${account.id}/keys`, token, {})) as { secret: string };
  const { link } = (await post("/links", secret, { target: "https://example.com/" })) as {
    link: { id: string; code: string };
  };
  return { ...link, token: secret };
}

/** Waits until the ledger has as many clicks as were redirected. Throws CliError when it has another number. */
async function drained(client: ApiClient, { id, token }: Link, clicks: number): Promise<number> {
  const deadlineMs = performance.now() + DRAIN_TIMEOUT_MS;
  for (;;) {
    const answer = (await mustCall(client, { method: "GET", path: `/links/${id}`, token })) as {
      link: { billedUnits: number };
    };
    const { billedUnits } = answer.link;
    if (billedUnits === clicks) return billedUnits;
    if (billedUnits > clicks || performance.now() > deadlineMs) {
      throw new CliError(`${clicks} redirected, ${billedUnits} recorded`);
    }
    await sleep(DRAIN_ASK_MS);
  }
}

function runName({ name }: Server, atATime: number): string {
  return `${name}, ${atATime} at a time`;
}

async function run(server: Server, clicks: number, atATime: number): Promise<RunFigures> {
  const { seconds, answerMs } = await followMany(server, clicks, atATime);
  server.clicks += answerMs.length;
  return {
    "redirects a second": answerMs.length / seconds,
    "p50, ms": quantile(answerMs, 0.5) ?? Number.NaN,
    "p99, ms": quantile(answerMs, 0.99) ?? Number.NaN,
  };
}

function medianRun(runs: readonly RunFigures[]): RunFigures {
  const middle = (name: keyof RunFigures) => rounded(median(runs.map((each) => each[name])), 2);
  return {
    "redirects a second": middle("redirects a second"),
    "p50, ms": middle("p50, ms"),
    "p99, ms": middle("p99, ms"),
  };
}

/** The front door's rate and p99 in times of the bare route's. */
function beside(medians: ReadonlyMap<string, RunFigures>, bare: Server, front: Server, atATime: number) {
  const times = (name: keyof RunFigures) => {
    const of = (server: Server) => medians.get(runName(server, atATime))?.[name] ?? Number.NaN;
    return rounded(of(front) / of(bare), 2);
  };
  return [
    [`redirects a second, ${atATime} at a time`, times("redirects a second")],
    [`p99, ${atATime} at a time`, times("p99, ms")],
  ] as const;
}
