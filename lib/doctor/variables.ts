import { inboxFaults } from "../inbox/environment.ts";
import { CONVEX_AUDIENCE, readKindeEnvironment, type SettingsFault } from "../kinde/environment.ts";
import { failed, type FaultCode, ok, skipped, type Step } from "./report.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where each variable comes from, for the line that says what to do. */
const SOURCES: Readonly<Record<string, string>> = {
  KINDE_ISSUER_URL: "the domain of the tenant, at Kinde under Settings > Applications > Details",
  KINDE_CLIENT_ID: "the Client ID of the web application, at Kinde under Settings > Applications > Details",
  KINDE_CLIENT_SECRET:
    "the Client secret of the web application, copied whole from Kinde under Settings > Applications > Details",
  KINDE_SITE_URL:
    "the address people use, scheme and host alone, such as https://app.example.com (npm start takes http://localhost and its port)",
  KINDE_AUDIENCE: `set it to ${CONVEX_AUDIENCE}, or leave it out where npm start runs the server`,
  KINDE_M2M_CLIENT_ID:
    "the Client ID of the machine-to-machine application, at Kinde under Settings > Applications",
  KINDE_M2M_CLIENT_SECRET:
    "the Client secret of the machine-to-machine application, at Kinde under Settings > Applications",
  CONVEX_URL:
    "the deployment URL that npx convex deploy prints, which ends in .convex.cloud; without it npm start runs local-convex",
};

/** Judges every variable. A faulty one is a step of its own; without any, one step says so. */
export function variableSteps(env: Environment): Step[] {
  const given = { KINDE_AUDIENCE: CONVEX_AUDIENCE, ...withoutEmpty(env) };
  const read = readKindeEnvironment(given);
  const kinde = read.kind === "ok" ? [] : read.faults;
  const faults = [...kinde, ...inboxFaults(env), ...convexFaults(env)];
  const steps: Step[] = faults.map((fault) => faultStep(fault, env));
  if (kinde.length === 0) steps.unshift({ name: "Kinde variables", ...ok("all set, in a usable form") });
  if ((env["CONVEX_URL"] ?? "") === "") {
    const because = "CONVEX_URL is not set: npm start runs local-convex, which needs no check";
    steps.push({ name: "CONVEX_URL", ...skipped(because) });
  }
  return steps;
}

/**
 * Whether neither a tenant nor a deployment is named, nor anything of a tenant: npm start brings the emulator and
 * local-convex itself then, and there is nothing of anybody else to check.
 */
export function isLocalOnly(env: Environment): boolean {
  return Object.keys(withoutEmpty(env)).every((name) => !Object.hasOwn(SOURCES, name));
}

/** Whether a variable is set and of a usable form, so that what depends on it can be tried. */
export function isUsable(steps: readonly Step[], env: Environment, variable: string): boolean {
  return (
    (env[variable] ?? "") !== "" && !steps.some(({ name, kind }) => name === variable && kind === "failed")
  );
}

function faultStep({ variable, message }: SettingsFault, env: Environment): Step {
  const fault = faultCodeOf(variable, env);
  const next = SOURCES[variable] ?? "see .env.example";
  const problem = message.startsWith(`${variable} `) ? message.slice(variable.length + 1) : message;
  return { name: variable, ...failed(fault, problem, next) };
}

function faultCodeOf(variable: string, env: Environment): FaultCode {
  if ((env[variable] ?? "") === "" && variable !== "KINDE_AUDIENCE") return "variable_missing";
  return variable === "KINDE_CLIENT_SECRET" ? "secret_format" : "variable_malformed";
}

function convexFaults(env: Environment): SettingsFault[] {
  const url = env["CONVEX_URL"] ?? "";
  const problem = url === "" ? null : convexProblem(url);
  return problem === null ? [] : [{ variable: "CONVEX_URL", message: `CONVEX_URL ${problem}` }];
}

function convexProblem(value: string): string | null {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    return "is not an http or https URL";
  if (new URL(value).hostname.endsWith(".convex.site"))
    return "is the address of HTTP actions (.convex.site)";
  return null;
}

/** An empty variable counts as none, as in .env.example. */
function withoutEmpty(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => (entry[1] ?? "") !== ""),
  );
}
