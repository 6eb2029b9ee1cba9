// `npm run doctor`: checks a configured Kinde tenant and Convex deployment step by step and says what to do next.
// Reads only, apart from asking the tenant for tokens; safe to run at any time. Shows no secret.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { createProbe } from "../lib/doctor/probe.ts";
import { skipped, type Step, stepText, summarize } from "../lib/doctor/report.ts";
import { runDoctor } from "../lib/doctor/run.ts";
import { isLocalOnly } from "../lib/doctor/variables.ts";
import { CliError, helpText, parseOptions, runMain } from "./support/cli.mjs";

const OPTIONS = {
  "env-file": { type: "string", help: "variables to add to the environment; those of the file win" },
  "data-dir": { type: "string", default: ".holdfast", help: "where server secret and operator key lie" },
  timeout: { type: "duration", default: 10_000, help: "how long to wait for one answer, such as 10s" },
  json: { type: "boolean", help: "prints the steps as JSON and nothing else" },
} as const;

const USAGE = `npm run doctor -- [options]: checks a tenant and a deployment before people use them.
Reads KINDE_* and CONVEX_URL as npm start does. Ends with 1 when a step failed.
Without any of them the installation is local, with the Kinde emulator, and nothing has to be checked.`;

const LOCAL =
  "neither KINDE_* nor CONVEX_URL is set: this installation is local, with the Kinde emulator, and needs no check";

async function main(argv: string[]): Promise<number> {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText(USAGE, OPTIONS));
    return 0;
  }
  const env = withFile(process.env, options["env-file"]);
  if (options["env-file"] === undefined && isLocalOnly(env)) {
    const steps: Step[] = [{ name: "tenant and deployment", ...skipped(LOCAL) }];
    console.log(options.json ? JSON.stringify({ ...summarize(steps), steps }, null, 2) : sentence(LOCAL));
    return 0;
  }
  const dataDir = resolve(options["data-dir"]);
  const onStep = (step: Step) => {
    if (!options.json) console.log(stepText(step));
  };
  const steps = await runDoctor({
    env,
    serverSecret: env["HOLDFAST_SERVER_SECRET"] || secretIn(dataDir, "server-secret"),
    operatorKey: secretIn(dataDir, "operator-key"),
    probe: createProbe(fetch, options.timeout),
    nowMs: Date.now(),
    onStep,
  });
  const summary = summarize(steps);
  if (options.json) console.log(JSON.stringify({ ...summary, steps }, null, 2));
  else console.log(`\n${summary.ok} ok, ${summary.failed} failed, ${summary.skipped} skipped`);
  return summary.failed === 0 ? 0 : 1;
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

type Environment = Record<string, string | undefined>;

function withFile(env: Environment, file: string | undefined): Environment {
  if (file === undefined) return { ...env };
  try {
    // An empty line of a copied .env.example takes nothing away.
    const given = Object.entries(parseEnv(readFileSync(file, "utf8"))).filter(([, value]) => value !== "");
    return { ...env, ...Object.fromEntries(given) };
  } catch (cause) {
    throw new CliError(`the file ${file} cannot be read`, { cause });
  }
}

/** Nothing is made here: a secret that npm start has not made yet is none. */
function secretIn(dataDir: string, name: string): string | null {
  try {
    return readFileSync(join(dataDir, name), "utf8").trim() || null;
  } catch {
    return null;
  }
}

await runMain("doctor", main);
