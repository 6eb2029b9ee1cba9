/** Checks, invokes and explains: the steps shared by outermost and nested calls of one function. */
import { inspect } from "node:util";
import { FunctionError, RequestError } from "./errors.ts";
import { CPU_SAMPLE_MS, nextTurn, type EngineHost } from "./host.ts";
import { currentInvocation, type Invocation, type UdfType } from "./invocation.ts";
import { LIMITS } from "./limits.ts";
import { canonicalPath, displayPath, type FunctionRecord } from "./modules.ts";
import type { Runtime } from "./runtime.ts";
import { checkArgs, checkValue } from "./values/check-value.ts";
import type { JsonObject, JsonValue } from "./values/json.ts";

const CONVEX_ERROR = Symbol.for("ConvexError");

/** A shorter return value cannot break the limits on array length and object fields. */
const RETURN_CHARS_UNCHECKED = 4_096;

const KIND_NAMES: Record<UdfType, string> = { query: "Query", mutation: "Mutation", action: "Action" };

/** Finds a function; `kind` null accepts any. @throws RequestError when it is missing, hidden or of another kind */
export function resolveFunction(
  runtime: Runtime,
  path: string,
  kind: UdfType | null,
  mayCallInternal: boolean,
): FunctionRecord {
  const canonical = canonicalPath(path);
  const record = runtime.modules.functions.get(canonical);
  if (record === undefined || (!record.isPublic && !mayCallInternal)) {
    throw new FunctionError(
      `Could not find public function for '${displayPath(canonical).replace(/:default$/, "")}'.`,
    );
  }
  if (kind !== null && record.kind !== kind) {
    throw new FunctionError(
      `Trying to execute ${canonical} as ${KIND_NAMES[kind]}, but it is defined as ${KIND_NAMES[record.kind]}.`,
    );
  }
  return record;
}

/** Checks arguments; returns them as a function takes them. @throws FunctionError "ArgumentValidationError: ..." */
export function checkArguments(runtime: Runtime, record: FunctionRecord, args: JsonObject): string {
  checkArgs(args);
  const failure = record.checkArgs(args, runtime.catalog.tableNameOf);
  if (failure !== null) throw new FunctionError(`ArgumentValidationError: ${failure.message}`);
  const text = JSON.stringify([args]);
  if (text.length > LIMITS.argumentBytes) {
    throw new Error(
      `Arguments for ${record.path} are too large (actual: ${text.length} bytes, limit: 16 MiB)`,
    );
  }
  return text;
}

/**
 * Runs the function inside its invocation: invoke, wait for syscalls it did not await, check the return value
 * and the time its own code took.
 * @returns the value as JSON text
 */
export async function invoke(
  runtime: Runtime,
  record: FunctionRecord,
  invocation: Invocation,
  argsText: string,
): Promise<string> {
  const { host } = runtime;
  const started = { elapsedMs: host.elapsedMs(), cpuMs: host.recentCpuMs() };
  try {
    const running = currentInvocation.run(invocation, () => record.invoke(argsText, invocation.requestId));
    const value = await (invocation.tx === null ? running : runtime.stuck.watch(running, invocation));
    await finishSyscalls(runtime, invocation);
    if (invocation.tx !== null) checkUserTime(host, started, invocation);
    return checkReturn(runtime, record, value);
  } finally {
    invocation.over = true;
  }
}

/**
 * Runs an HTTP action inside its invocation. `work` ends when the answer is sent: a body that streams may still
 * call functions.
 */
export async function invokeHttp(
  runtime: Runtime,
  invocation: Invocation,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await currentInvocation.run(invocation, work);
    await finishSyscalls(runtime, invocation);
  } finally {
    invocation.over = true;
  }
}

/**
 * Lets the syscalls end that the function did not wait for. When one failed, the event loop turns once more, so
 * that a rejection nobody handles is known before the commit (see unhandled-rejections.ts).
 */
async function finishSyscalls(runtime: Runtime, invocation: Invocation): Promise<void> {
  while (invocation.tail !== null) await invocation.tail.catch(() => undefined);
  if (invocation.hasFailedSyscall) await nextTurn(runtime.host);
  if (invocation.unhandled !== null) throw invocation.unhandled.reason;
}

/**
 * Time in which the machine ran something else is not the function's: what counts is the shorter of the time that
 * passed outside of syscalls and the time that this process had a processor.
 */
function checkUserTime(
  host: EngineHost,
  started: { readonly elapsedMs: number; readonly cpuMs: number },
  invocation: Invocation,
): void {
  if (host.elapsedMs() - started.elapsedMs - invocation.syscallMs <= LIMITS.userCodeMs) return;
  // The sample may be from before the start, by so much.
  const usedMs = host.cpuMs() - started.cpuMs - CPU_SAMPLE_MS;
  if (usedMs - invocation.syscallMs <= LIMITS.userCodeMs) return;
  throw new Error(`Function execution timed out (maximum duration: ${LIMITS.userCodeMs / 1000}s)`);
}

function checkReturn(runtime: Runtime, record: FunctionRecord, text: string): string {
  if (record.checkReturns === null && text.length < RETURN_CHARS_UNCHECKED) return text;
  const value = JSON.parse(text) as JsonValue;
  if (text.length >= RETURN_CHARS_UNCHECKED) checkValue(value);
  const failure = record.checkReturns?.(value, runtime.catalog.tableNameOf) ?? null;
  if (failure !== null) throw new FunctionError(`ReturnsValidationError: ${failure.message}`);
  return text;
}

/** What user code threw, in the form clients see: `Uncaught Name: text`, then the mapped stack. */
export function toFunctionError(runtime: Runtime, error: unknown): Error {
  if (error instanceof FunctionError || error instanceof RequestError) return error;
  if (!(error instanceof Error)) {
    const text = typeof error === "string" ? error : inspect(error);
    return new FunctionError(`Uncaught ${runtime.redact(text)}`, { cause: error });
  }
  const stack = (error.stack ?? "").split("\n").filter((line) => line.includes("convex-functions.js:"));
  const where = stack.slice(0, 8).map((line) => runtime.modules.mapStack(line));
  const text = runtime.redact([`Uncaught ${error.name}: ${error.message}`, ...where].join("\n"));
  if (CONVEX_ERROR in error) {
    const data = JSON.parse((error as unknown as { data: string }).data) as JsonValue;
    return new FunctionError(text, { data, cause: error });
  }
  return new FunctionError(text, { cause: error });
}
