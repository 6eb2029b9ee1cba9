import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createConvexGateway, type ConvexGateway } from "./convex.ts";
import type { LogEvent, ServerDeps } from "./deps.ts";
import { gatherGateCalls } from "./gate-batches.ts";
import { type AnsweredRequest, processRequestCounts, requestLine } from "./request-counts.ts";
import { readSessionToken } from "./session-token.ts";

/** The configuration of the process is missing or unusable; `message` names the variable and never its value. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
  readonly code = "configuration";
}

let kept: { url: string; serverSecret: string; gateway: ConvexGateway } | undefined;

/**
 * The real dependencies of the handlers. The environment is read at request time, so that one build runs against any
 * deployment; the gateway is kept while it stays the same. Throws `ConfigurationError`.
 */
export function processDeps(env: NodeJS.ProcessEnv = process.env): ServerDeps {
  const url = readVariable(env, "CONVEX_URL");
  const serverSecret = readVariable(env, "HOLDFAST_SERVER_SECRET");
  if (kept?.url !== url || kept.serverSecret !== serverSecret) {
    const gateway = gatherGateCalls(createConvexGateway({ url, serverSecret }), Date.now);
    kept = { url, serverSecret, gateway };
  }
  return {
    convex: kept.gateway,
    readSessionToken,
    nowMs: Date.now,
    sleep: (ms) => sleep(ms),
    random: Math.random,
    elapsedMs: () => performance.now(),
    newId: randomUUID,
    log: logLine,
    answered: env.HOLDFAST_LOG_REQUESTS === "1" ? countAndLog : count,
  };
}

function count(request: AnsweredRequest): void {
  processRequestCounts().add(request);
}

function countAndLog(request: AnsweredRequest): void {
  count(request);
  logLine(requestLine(request));
}

function readVariable(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name]?.trim();
  if (!value) throw new ConfigurationError(`The environment variable ${name} is not set.`);
  return value;
}

/** One JSON line on standard error; the supervisor adds the name of the process. */
export function logLine(event: LogEvent): void {
  process.stderr.write(`${JSON.stringify(event)}\n`);
}
