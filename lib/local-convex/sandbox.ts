/**
 * The globals user functions see. Their bundle is compiled as one function whose parameters shadow the real
 * globals, so the engine's own Date, fetch and timers are untouched. This keeps functions deterministic; it is
 * not a security boundary (the functions are the operator's own code).
 */
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { webcrypto } from "node:crypto";
import { inspect } from "node:util";
import type { EngineClock } from "./clock.ts";
import type { EngineHost } from "./host.ts";
import { currentInvocation, type Invocation } from "./invocation.ts";

/** Real Convex keeps this many log lines of one call, each of at most so many characters. */
const LOG_LINES_MAX = 256;
const LOG_LINE_CHARS_MAX = 32 * 1024;

/** What Node has and Convex's default runtime has not: code that uses it must fail here too. */
const ABSENT = "XMLHttpRequest WebSocket EventSource window global Buffer setImmediate clearImmediate".split(
  " ",
);

export interface SyscallTable {
  syscall(op: string, args: string): string;
  asyncSyscall(op: string, args: string): Promise<string>;
  jsSyscall(op: string, args: Record<string, unknown>): unknown;
}

const transactionOf = (): Invocation | null => {
  const invocation = currentInvocation.getStore();
  return invocation !== undefined && invocation.kind !== "action" ? invocation : null;
};

/** Parameter names and values for the compiled bundle. */
export function sandboxGlobals(
  convex: SyscallTable,
  clock: EngineClock,
  env: Readonly<Record<string, string>>,
  host: EngineHost,
): Record<string, unknown> {
  const globals: Record<string, unknown> = {
    Convex: convex,
    Date: guardedDate(clock),
    Math: guardedMath(),
    crypto: guardedCrypto(),
    console: functionConsole(),
    process: { env },
    performance: { now: () => monotonicMs(host) },
    clearTimeout: (timer: unknown) => host.clearTimeout(timer),
    clearInterval: (timer: unknown) => host.clearInterval(timer),
    AsyncLocalStorage,
    AsyncResource,
  };
  for (const name of ["fetch", "setTimeout", "setInterval"] as const) {
    const outside = host[name] as (...args: unknown[]) => unknown;
    globals[name] = (...args: unknown[]) => {
      if (transactionOf() !== null) throw new Error(forbidden(`${name}()`));
      return outside(...args);
    };
  }
  for (const name of ABSENT) globals[name] = undefined;
  const shadow = new Proxy(globals, {
    get: (target, key) => (key in target ? target[key as string] : Reflect.get(globalThis, key)),
    has: (target, key) => key in target || key in globalThis,
  });
  globals["globalThis"] = shadow;
  globals["self"] = shadow;
  return globals;
}

function forbidden(what: string): string {
  return (
    `Can't use ${what} in queries and mutations. Please consider using an action. ` +
    "See https://docs.convex.dev/functions/actions for more details."
  );
}

/** As in real Convex, this one stands still in queries only. */
function monotonicMs(host: EngineHost): number {
  const invocation = currentInvocation.getStore();
  return invocation?.kind === "query" ? invocation.tx!.nowMs : host.elapsedMs();
}

function guardedDate(clock: EngineClock): DateConstructor {
  const nowMs = (): number => Math.floor(transactionOf()?.tx?.nowMs ?? clock.nowMs());
  const handler: ProxyHandler<DateConstructor> = {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [nowMs()] : args, newTarget) as Date,
    apply: () => new Date(nowMs()).toString(),
    get: (target, key) => (key === "now" ? nowMs : Reflect.get(target, key)),
  };
  return new Proxy(Date, handler);
}

function guardedMath(): Math {
  const guarded = Object.create(Math) as Math;
  for (const key of Object.getOwnPropertyNames(Math)) {
    Object.defineProperty(guarded, key, Object.getOwnPropertyDescriptor(Math, key)!);
  }
  guarded.random = () => (currentInvocation.getStore()?.random ?? { next: Math.random }).next();
  return guarded;
}

function guardedCrypto(): object {
  const fill = (array: Uint8Array): void => {
    const random = transactionOf()?.random;
    for (let i = 0; i < array.length; i++) array[i] = random!.nextUint32() & 0xff;
  };
  const subtle = new Proxy(webcrypto.subtle, {
    get: (target, key) => {
      if (key === "generateKey" && transactionOf() !== null) {
        return () => {
          throw new Error(
            "Can't use cryptographic randomness in queries and mutations. Please consider using an action.",
          );
        };
      }
      const member: unknown = Reflect.get(target, key);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
  return {
    subtle,
    getRandomValues: <T extends NodeJS.TypedArray>(array: T): T => {
      if (transactionOf() === null) return webcrypto.getRandomValues(array as never) as T;
      fill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
      return array;
    },
    randomUUID: (): string => {
      if (transactionOf() === null) return webcrypto.randomUUID();
      const bytes = new Uint8Array(16);
      fill(bytes);
      bytes[6] = (bytes[6]! & 0x0f) | 0x40;
      bytes[8] = (bytes[8]! & 0x3f) | 0x80;
      const hex = Buffer.from(bytes).toString("hex");
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join(
        "-",
      );
    },
  };
}

function functionConsole(): Record<string, (...args: unknown[]) => void> {
  const logger =
    (level: string) =>
    (...args: unknown[]): void => {
      const lines = currentInvocation.getStore()?.logLines;
      if (lines === undefined || lines.length >= LOG_LINES_MAX) return;
      const text = args.map((arg) => (typeof arg === "string" ? `'${arg}'` : inspect(arg))).join(" ");
      lines.push(`[${level}] ${text}`.slice(0, LOG_LINE_CHARS_MAX));
    };
  return {
    debug: logger("DEBUG"),
    info: logger("INFO"),
    log: logger("LOG"),
    trace: logger("DEBUG"),
    warn: logger("WARN"),
    error: logger("ERROR"),
  };
}
