/**
 * Dispatch of syscalls (facts §1.1, §1.2) to the code that serves them. Syscalls of one function run strictly
 * one after another in issue order; while nothing has to wait, each runs at once, inside the call.
 */
import { callNested } from "./nested-call.ts";
import { databaseAsync, databaseSync } from "./database-syscalls.ts";
import { notSupported } from "./errors.ts";
import { sleep } from "./host.ts";
import { currentInvocation, type Invocation } from "./invocation.ts";
import type { Runtime } from "./runtime.ts";
import type { SyscallTable } from "./sandbox.ts";
import type { JsonObject } from "./values/json.ts";

/** The global `Convex` of user functions, bound to a runtime. */
export function syscallTable(runtime: Runtime): SyscallTable {
  return {
    syscall(op, args) {
      const invocation = active(op);
      return timed(runtime, invocation, () =>
        databaseSync(runtime, invocation, op, JSON.parse(args) as JsonObject),
      );
    },
    asyncSyscall(op, args) {
      let invocation: Invocation;
      try {
        invocation = active(op);
      } catch (error) {
        return Promise.reject(error);
      }
      return inOrder(runtime, invocation, op, JSON.parse(args) as JsonObject);
    },
    jsSyscall(op) {
      throw notSupported(`File storage (${op})`);
    },
  };
}

function active(op: string): Invocation {
  const invocation = currentInvocation.getStore();
  if (invocation === undefined) throw new Error(`Can't use database at import time (${op}).`);
  if (invocation.over) throw tooLate(invocation, op);
  return invocation;
}

function tooLate(invocation: Invocation, op: string): Error {
  return new Error(`${invocation.path} has already returned; ${op} came too late.`);
}

/** Adds the time since `startedMs`, of which overlapping waits count once. */
function noteWait(runtime: Runtime, invocation: Invocation, startedMs: number): void {
  const nowMs = runtime.host.elapsedMs();
  invocation.syscallMs += nowMs - Math.max(startedMs, invocation.waitedUntilMs);
  invocation.waitedUntilMs = nowMs;
}

/** Runs at once when nothing is pending, else after everything issued before. */
function inOrder(runtime: Runtime, invocation: Invocation, op: string, args: JsonObject): Promise<string> {
  const latencyMs = invocation.tx === null ? 0 : runtime.syscallLatencyMs();
  if (invocation.tail === null && latencyMs === 0 && !MAY_WAIT.has(op)) {
    try {
      return Promise.resolve(timed(runtime, invocation, () => serveNow(runtime, invocation, op, args)));
    } catch (error) {
      invocation.hasFailedSyscall = true;
      return Promise.reject(error);
    }
  }
  // Actions have no transaction: their calls may overlap.
  const before = invocation.tx === null ? null : invocation.tail;
  const startedMs = runtime.host.elapsedMs();
  const mine = (async () => {
    try {
      if (before !== null) await before.catch(() => undefined);
      if (latencyMs > 0) await sleep(runtime.host, latencyMs);
      // A handler that threw takes nothing more with it, not even into the transaction of its caller.
      if (invocation.over) throw tooLate(invocation, op);
      return await (MAY_WAIT.has(op)
        ? serveLater(runtime, invocation, op, args)
        : serveNow(runtime, invocation, op, args));
    } catch (error) {
      invocation.hasFailedSyscall = true;
      throw error;
    } finally {
      noteWait(runtime, invocation, startedMs);
    }
  })();
  invocation.tail = mine;
  mine.then(
    () => settleTail(invocation, mine),
    () => settleTail(invocation, mine),
  );
  return mine;
}

function settleTail(invocation: Invocation, mine: Promise<unknown>): void {
  if (invocation.tail === mine) invocation.tail = null;
}

/** Ops that run user code or leave the transaction, so their answer cannot be there at once. */
const MAY_WAIT = new Set([
  "1.0/runUdf",
  "1.0/actions/query",
  "1.0/actions/mutation",
  "1.0/actions/action",
  "1.0/actions/schedule",
  "1.0/actions/cancel_job",
]);

function serveLater(runtime: Runtime, invocation: Invocation, op: string, args: JsonObject): Promise<string> {
  if (op === "1.0/runUdf") return callNested(runtime, invocation, args);
  return runtime.serveAction(invocation, op, args);
}

function serveNow(runtime: Runtime, invocation: Invocation, op: string, args: JsonObject): string {
  switch (op) {
    case "1.0/schedule":
      return JSON.stringify(runtime.scheduler.schedule(needTransaction(invocation, op), invocation, args));
    case "1.0/cancel_job":
      runtime.scheduler.cancel(needTransaction(invocation, op), args, invocation.scheduledFunctionId);
      return "null";
    case "1.0/getUserIdentity":
      return JSON.stringify(invocation.caller.identity);
    case "1.0/getTransactionMetrics":
      return JSON.stringify(needTransaction(invocation, op).limits.metrics());
    case "1.0/getFunctionMetadata":
      return JSON.stringify({ name: invocation.path, componentPath: "" });
    case "1.0/getDeploymentMetadata":
      return JSON.stringify({ name: "local-convex", region: null, class: "local" });
    case "1.0/getRequestMetadata":
      return JSON.stringify(requestMetadata(invocation));
    default:
  }
  if (/storage|vectorSearch|signJwt|auditLog|createFunctionHandle|ServiceToken|ServiceUrl/i.test(op)) {
    throw notSupported(op);
  }
  if (invocation.tx === null) throw new Error(`Unknown async operation ${op}`);
  return databaseAsync(runtime, invocation, op, args);
}

function requestMetadata(invocation: Invocation): JsonObject {
  const { caller, requestId, scheduledFunctionId } = invocation;
  return { ip: caller.ip, userAgent: caller.userAgent, requestId, scheduledFunctionId, authToken: null };
}

export function needTransaction(invocation: Invocation, op: string) {
  if (invocation.tx === null) throw new Error(`Unknown async operation ${op}`);
  return invocation.tx;
}

function timed<T>(runtime: Runtime, invocation: Invocation, work: () => T): T {
  const { host } = runtime;
  const startedMs = host.elapsedMs();
  try {
    return work();
  } finally {
    invocation.syscallMs += host.elapsedMs() - startedMs;
  }
}
