/** `ctx.runQuery` and `ctx.runMutation` inside a transaction: same snapshot, a sub-transaction for writes. */
import { inspect } from "node:util";
import { notSupported } from "./errors.ts";
import { checkArguments, invoke, resolveFunction } from "./function-call.ts";
import { newInvocation, type Invocation } from "./invocation.ts";
import { LIMITS } from "./limits.ts";
import type { Runtime } from "./runtime.ts";
import { seededRandom } from "./random.ts";
import type { JsonObject } from "./values/json.ts";

/** Serves 1.0/runUdf. A failing nested mutation takes back its own writes; its reads stay. */
export async function callNested(runtime: Runtime, parent: Invocation, args: JsonObject): Promise<string> {
  const kind = args["udfType"];
  if (kind === "snapshotQuery") throw notSupported("useStaleSnapshot");
  if (kind === "mutation" && parent.kind === "query") {
    throw new Error("Cannot call a mutation function from a query function");
  }
  if (parent.depth + 1 > LIMITS.nestedCalls) {
    throw new Error(`Nested function calls are limited to ${LIMITS.nestedCalls} levels.`);
  }
  const record = resolveFunction(
    runtime,
    functionName(args),
    kind === "mutation" ? "mutation" : "query",
    true,
  );
  const argsText = checkArguments(runtime, record, args["args"] as JsonObject);
  const tx = parent.tx!;
  const child = newInvocation({
    kind: record.kind,
    path: record.path,
    requestId: parent.requestId,
    caller: parent.caller,
    tx,
    random: seededRandom(parent.random.nextUint32()),
    logLines: parent.logLines,
    depth: parent.depth + 1,
    scheduledFunctionId: parent.scheduledFunctionId,
  });
  const mark = tx.mark();
  try {
    return await invoke(runtime, record, child, argsText);
  } catch (error) {
    tx.undoTo(mark);
    throw toSyscallError(error);
  }
}

/** The address of a call: a name, or a reference (components are left out). */
export function functionName(args: JsonObject): string {
  const name = args["name"];
  if (typeof name === "string") return name;
  throw notSupported("Calling components or function handles");
}

/** At the host boundary ConvexError data is a string; on a rejected syscall it must be parsed JSON. */
export function toSyscallError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(typeof error === "string" ? error : inspect(error));
  const data = (error as { data?: unknown }).data;
  if (Symbol.for("ConvexError") in error && typeof data === "string") {
    return Object.assign(new Error(error.message), { data: JSON.parse(data) as unknown });
  }
  return error;
}
