// `npm run engine-room`: nine deliveries of three billing events, through a naive handler and through the inbox, on a
// throw-away database. Exit 1 when the inbox does not end with Pro and 500 credits.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CliError, helpText, parseOptions, runMain } from "./support/cli.mjs";
import { openEngine, withTempFolder, type LocalEngine } from "./support/temp-engine.ts";

const OPTIONS = {
  shuffle: { type: "integer", minimum: 0, maximum: 2 ** 32 - 1, help: "a seed that tells another order" },
  json: { type: "boolean", help: "print one JSON object as the last line" },
} as const;

interface Side {
  readonly planKey: string;
  readonly balanceUnits: number;
}

interface Step {
  readonly event: "payment" | "plan_changed" | "cancellation";
  readonly stops: boolean;
  readonly naive: Side;
  readonly pipeline: Side;
  readonly isCopy: boolean;
  readonly status: string;
  readonly result: string | null;
  readonly error: string | null;
}

type Counts = Readonly<Record<"receipts" | "stored" | "copies" | "grants" | "ignored", number>>;

interface Run {
  readonly status: "running" | "finished" | "failed" | "stopped";
  readonly failure: string | null;
  readonly start: Side;
  readonly steps: readonly Step[];
  readonly naive: Side;
  readonly pipeline: Side & Counts;
}

const LOOK_EVERY_MS = 50;
const WAIT_MS = 60_000;

/** What the inbox comes to in every order. */
const RIGHT: Side & Counts = {
  planKey: "customer_pro_plan",
  balanceUnits: 500,
  receipts: 9,
  stored: 3,
  copies: 6,
  grants: 1,
  ignored: 1,
};

const EVENT_NAMES: Readonly<Record<Step["event"], string>> = {
  payment: "payment",
  plan_changed: "plan change to Pro",
  cancellation: "old cancellation",
};

async function main(argv: string[]): Promise<number> {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(
      helpText("npm run engine-room -- [options]: a naive webhook handler beside the inbox", OPTIONS),
    );
    return 0;
  }
  const run = await withTempFolder(async (folder) => {
    const engine = await openEngine(join(folder, "engine-room.sqlite")).catch((error: Error) => {
      throw new CliError(`the engine does not start: ${error.message}`, { cause: error });
    });
    try {
      return await runScenario(engine, options.shuffle);
    } finally {
      await engine.close();
    }
  });
  console.log(report(run, options.shuffle));
  if (options.json) console.log(JSON.stringify(summary(run)));
  const wrong = differences(run.pipeline);
  if (wrong.length === 0) return 0;
  console.error(`engine-room: the pipeline is wrong: ${wrong.join(", ")}`);
  return 1;
}

async function runScenario(engine: LocalEngine, seed: number | undefined): Promise<Run> {
  const { runId } = await engine.mutation<{ runId: string }>("engineRoom:start", {
    ...engine.operator,
    ...(seed === undefined ? {} : { seed }),
  });
  const deadline = performance.now() + WAIT_MS;
  while (performance.now() < deadline) {
    const run = await engine.query<Run | null>("engineRoom:get", { ...engine.operator, runId });
    if (run?.status === "finished") return run;
    if (run?.status === "failed") throw new CliError(`the run ended early: ${run.failure}`);
    if (run?.status === "stopped") throw new CliError("the engine stopped in the middle of the run");
    await sleep(LOOK_EVERY_MS);
  }
  throw new CliError("the run did not end in time");
}

function report(run: Run, seed: number | undefined): string {
  const order = seed === undefined ? "" : `, in the order of seed ${seed}`;
  const rows = [
    ["", "delivery", "naive handler", "pipeline", "what the pipeline did"],
    ["", "at the start", short(run.start), short(run.start), ""],
    ...run.steps.map((step, index) => {
      const name = `${EVENT_NAMES[step.event]}${step.stops ? " *" : ""}`;
      const before = run.steps.slice(0, index).findLast(({ event }) => event === step.event);
      return [String(index + 1), name, short(step.naive), short(step.pipeline), deed(step, before)];
    }),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    `  ${row.map((cell, at) => cell.padEnd(widths[at]!)).join("  ")}`.trimEnd(),
  );
  const { receipts, stored, copies, grants, ignored } = run.pipeline;
  return [
    `Nine deliveries of three events to one customer, Free with 10 credits${order}`,
    "",
    ...lines,
    "",
    "  * the worker stops between its two writes",
    `  pipeline: ${receipts} receipts, ${stored} events stored, ${copies} copies, ${grants} Pro grant, ${ignored} event ignored`,
    "",
    `naive: ${sentence(run.naive)} credits`,
    `pipeline: ${sentence(run.pipeline)} credits`,
  ].join("\n");
}

function deed({ status, stops, isCopy, result, error }: Step, before: Step | undefined): string {
  if (status === "failed") return stops ? "stored; undone, due again" : `failed: ${error}`;
  const outcome = result === null ? status : `${status}: ${result}`;
  if (!isCopy) return outcome;
  return before?.status === "failed"
    ? `a copy runs the stopped event to its end: ${outcome}`
    : "a copy, counted";
}

function summary({ steps, naive, pipeline }: Run): object {
  const { receipts, stored, copies, grants, ignored } = pipeline;
  return {
    naive: { ...plain(naive), afterEach: steps.map((step) => plain(step.naive)) },
    pipeline: { ...plain(pipeline), receipts, stored, copies, grants, ignored },
  };
}

function differences(pipeline: Run["pipeline"]): string[] {
  const names = Object.keys(RIGHT) as (keyof typeof RIGHT)[];
  return names
    .filter((name) => pipeline[name] !== RIGHT[name])
    .map((name) => `${name} is ${pipeline[name]} and not ${RIGHT[name]}`);
}

/** The name in the key of a built-in plan: customer_pro_plan is pro. */
function planOf({ planKey }: Side): string {
  return /^customer_(\w+)_plan$/.exec(planKey)?.[1] ?? planKey;
}

function plain(side: Side): { plan: string; balance: number } {
  return { plan: planOf(side), balance: side.balanceUnits };
}

function titled(side: Side): string {
  const plan = planOf(side);
  return plan.charAt(0).toUpperCase() + plan.slice(1);
}

function short(side: Side): string {
  return `${titled(side).padEnd(4)} ${side.balanceUnits.toLocaleString("en-US").padStart(5)}`;
}

function sentence(side: Side): string {
  return `${titled(side)} with ${side.balanceUnits.toLocaleString("en-US")}`;
}

await runMain("engine-room", main);
