import { CliError } from "./cli.mjs";
import { hashApiKey } from "../../lib/server/api-keys.ts";
import type { CallerSecrets } from "./secrets.ts";

/** The audit walks every budget; a large installation may take its time. */
const AUDIT_TIMEOUT_MS = 10 * 60_000;

export interface AuditResult {
  readonly budgets: number;
  readonly repaired: number;
}

/**
 * Runs the audit: recomputes what is held and used from jobs and ledger and repairs a difference, before anything
 * is served. Throws CliError with the deployment's own words when it cannot be run.
 */
export async function runAudit(
  convexUrl: string,
  secrets: CallerSecrets,
  signal: AbortSignal,
): Promise<AuditResult> {
  return readAudit(await callAsOperator(convexUrl, "action", "ops:audit", {}, secrets, signal));
}

/**
 * Calls a function of the deployment in the operator's name, without the web server. Throws CliError with the
 * deployment's own words.
 */
export async function callAsOperator(
  url: string,
  type: "mutation" | "action",
  path: string,
  own: object,
  secrets: CallerSecrets,
  signal: AbortSignal,
): Promise<unknown> {
  const args = {
    ...own,
    serverSecret: secrets.serverSecret,
    keyHash: hashApiKey(secrets.operatorKey),
  };
  let text: string;
  try {
    const response = await fetch(`${url}/api/${type}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ path, format: "convex_encoded_json", args: [args] }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(AUDIT_TIMEOUT_MS)]),
    });
    text = await response.text();
  } catch (cause) {
    throw new CliError(`${path} got no answer from ${url}`, { cause });
  }
  return text === "" ? null : parseAnswer(path, text);
}

function parseAnswer(path: string, text: string): unknown {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (cause) {
    throw new CliError(`${path} was answered with something that is not JSON: ${text.slice(0, 200)}`, {
      cause,
    });
  }
  if (typeof answer !== "object" || answer === null)
    throw new CliError(`${path} failed: ${text.slice(0, 500)}`);
  if ("status" in answer && answer.status === "success" && "value" in answer) return answer.value;
  const message =
    "errorMessage" in answer ? answer.errorMessage : "message" in answer ? answer.message : text;
  throw new CliError(`${path} failed: ${String(message).split("\n")[0]?.slice(0, 500)}`);
}

function readAudit(answer: unknown): AuditResult {
  if (typeof answer !== "object" || answer === null || !("budgets" in answer) || !("repaired" in answer)) {
    throw new CliError("ops:audit failed: its answer has no counts");
  }
  return { budgets: Number(answer.budgets), repaired: Number(answer.repaired) };
}
