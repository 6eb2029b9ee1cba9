// `npm run lab`: the Concurrency Lab without a browser. The same jobs at the same moment, through a plain check and
// through the gate, on a throw-away database. Exit 1 when the gate let more be spent than the limit.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  checkLab,
  LAB_JOBS_MAX,
  LAB_STEP_MS_MAX,
  LAB_STEP_MS_MIN,
  LAB_STEPS_MAX,
} from "../lib/lab/bounds.ts";
import { CliError, helpText, parseOptions, runMain, usageError } from "./support/cli.mjs";
import { openEngine, withTempFolder, type LocalEngine } from "./support/temp-engine.ts";

const OPTIONS = {
  jobs: {
    type: "integer",
    minimum: 1,
    maximum: LAB_JOBS_MAX,
    default: 5,
    help: "jobs that start at the same moment",
  },
  units: { type: "integer", minimum: 1, default: 40_000, help: "units each job spends" },
  limit: { type: "integer", minimum: 0, default: 100_000, help: "the usage limit" },
  steps: { type: "integer", minimum: 1, maximum: LAB_STEPS_MAX, default: 4, help: "steps of each job" },
  "step-ms": {
    type: "integer",
    minimum: LAB_STEP_MS_MIN,
    maximum: LAB_STEP_MS_MAX,
    default: 50,
    help: "how long a step takes",
  },
  json: { type: "boolean", help: "print one JSON object as the last line" },
} as const;

type Options = ReturnType<typeof parseOptions<typeof OPTIONS>>;

interface LabRun {
  readonly status: "running" | "finished";
  readonly plain: { readonly started: number; readonly spentUnits: number; readonly overUnits: number };
  readonly held: { readonly started: number; readonly refused: number; readonly spentUnits: number };
  readonly lanes: readonly { readonly refusal: { readonly freeUnits?: number } | null }[];
}

const LOOK_EVERY_MS = 50;
/** On top of the time the steps take by themselves. */
const SPARE_MS = 30_000;

async function main(argv: string[]): Promise<number> {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run lab -- [options]: a plain check beside the gate", OPTIONS));
    return 0;
  }
  const { jobs, units, limit: limitUnits, steps } = options;
  const fault = checkLab({ jobs, units, limitUnits, steps, stepMs: options["step-ms"] });
  if (fault !== null) throw usageError(fault.message);
  const run = await withTempFolder(async (folder) => {
    const engine = await openEngine(join(folder, "lab.sqlite"));
    try {
      return await runLab(engine, options);
    } finally {
      await engine.close();
    }
  });
  const { plain, held } = run;
  console.log(table(options, run));
  if (options.json) {
    const result = {
      plain: { started: plain.started, spent: plain.spentUnits },
      held: { started: held.started, refused: held.refused, spent: held.spentUnits },
    };
    console.log(JSON.stringify(result));
  }
  if (held.spentUnits <= options.limit) return 0;
  console.error(`lab: the gate let ${held.spentUnits - options.limit} units be spent over the limit`);
  return 1;
}

async function runLab(engine: LocalEngine, options: Options): Promise<LabRun> {
  const { jobs, units, limit, steps } = options;
  const stepMs = options["step-ms"];
  const { labRunId } = await engine.mutation<{ labRunId: string }>("lab:start", {
    ...engine.operator,
    jobs,
    units,
    limitUnits: limit,
    steps,
    stepMs,
  });
  const deadline = performance.now() + SPARE_MS + steps * stepMs * 2;
  while (performance.now() < deadline) {
    const run = await engine.query<LabRun | null>("lab:get", { ...engine.operator, labRunId });
    if (run?.status === "finished") return run;
    await sleep(LOOK_EVERY_MS);
  }
  throw new CliError("the lab run did not end in time");
}

function table({ jobs, units, limit }: Options, { plain, held, lanes }: LabRun): string {
  const number = (value: number) => value.toLocaleString("en-US");
  const rows = [
    ["", "plain check", "gate"],
    ["started", number(plain.started), number(held.started)],
    ["refused", number(jobs - plain.started), number(held.refused)],
    ["spent", number(plain.spentUnits), number(held.spentUnits)],
    ["over the limit", number(plain.overUnits), number(Math.max(0, held.spentUnits - limit))],
  ];
  const lines = rows.map(
    ([name = "", ...cells]) => `  ${name.padEnd(16)}${cells.map((c) => c.padStart(14)).join("")}`,
  );
  const title = `${jobs} jobs of ${number(units)} at the same moment, limit ${number(limit)}`;
  const left = new Set(lanes.flatMap(({ refusal }) => refusal?.freeUnits ?? []).map(number));
  const told = left.size === 0 ? [] : [`  each refusal named what was left: ${[...left].join(", ")}`, ""];
  return [title, "", ...lines, "", ...told].join("\n");
}

await runMain("lab", main);
