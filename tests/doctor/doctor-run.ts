import { expect } from "vitest";
import { createProbe } from "../../lib/doctor/probe.ts";
import type { Step } from "../../lib/doctor/report.ts";
import { runDoctor } from "../../lib/doctor/run.ts";
import { EMULATOR_ENV } from "../kinde/emulator/emulator-server.ts";
import { runScript, type ScriptRun } from "../scripts/run-script.ts";

export const SERVER_SECRET = "5e".repeat(32);

/** Variables of the machine that runs the tests must not lead the doctor anywhere. */
const NOTHING = {
  KINDE_ISSUER_URL: "",
  KINDE_API_AUDIENCE: "",
  KINDE_AUDIENCE: "",
  CONVEX_URL: "",
  HOLDFAST_SERVER_SECRET: "",
  HOLDFAST_ALLOWANCES: "",
};

const SECRETS = [
  EMULATOR_ENV["KINDE_CLIENT_SECRET"]!,
  EMULATOR_ENV["KINDE_M2M_CLIENT_SECRET"]!,
  SERVER_SECRET,
  "eyJ",
];

export interface Examined {
  readonly steps: readonly Step[];
  readonly step: (name: string) => Step | undefined;
}

export interface ExamineOptions {
  readonly timeoutMs?: number;
  readonly operatorKey?: string;
}

const { KINDE_EMULATOR_CONTROL_KEY: _key, ...TENANT } = EMULATOR_ENV;

/** Runs the checks in this process, over real sockets; fails when they show a secret or a token. */
export async function examine(
  env: Record<string, string>,
  { timeoutMs = 10_000, operatorKey }: ExamineOptions = {},
): Promise<Examined> {
  const told: Step[] = [];
  const steps = await runDoctor({
    env: { ...TENANT, ...env },
    serverSecret: env["HOLDFAST_SERVER_SECRET"] ?? null,
    operatorKey: operatorKey ?? null,
    probe: createProbe(fetch, timeoutMs),
    nowMs: Date.now(),
    onStep: (step) => told.push(step),
  });
  expect(told).toEqual(steps);
  expectNoSecret(JSON.stringify(steps));
  return { steps, step: (name) => steps.find((step) => step.name === name) };
}

/** Runs `npm run doctor` as its own process. */
export async function examineAsProcess(
  env: Record<string, string>,
  args: readonly string[],
): Promise<ScriptRun> {
  const all = ["--import", "tsx", "scripts/doctor.ts", ...args];
  const run = await runScript(all, { ...NOTHING, ...TENANT, ...env });
  expectNoSecret(run.stdout + run.stderr);
  return run;
}

function expectNoSecret(text: string): void {
  for (const secret of SECRETS) expect(text).not.toContain(secret);
}
