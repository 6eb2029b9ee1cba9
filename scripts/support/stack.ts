// What the processes of the stack are and how they are told about each other. The only place that knows.
import { createHmac } from "node:crypto";
import type { ChildSpec } from "./children.ts";
import { hashApiKey } from "../../lib/server/api-keys.ts";
import type { Secrets } from "./secrets.ts";

/** Named in the log lines and in the line that says which part ended. */
export const ENGINE = "local-convex";
export const EMULATOR = "kinde";
export const WEB = "web";

const EXIT_WITH_PARENT = ["--import", "./scripts/support/exit-with-parent.mjs"];

/** local-convex on a data file. It binds 127.0.0.1 only and ends when its stdin closes. */
export function engineSpec(options: {
  dataFile: string;
  port: number;
  clockFile: string | null;
  secrets: Secrets;
  /** What the functions need to reach the billing provider. */
  kindeEnv: Record<string, string>;
  shortUrl: string;
  /** Load the functions again when one of their files changes. */
  watch: boolean;
}): ChildSpec {
  return {
    name: ENGINE,
    args: [
      "--import",
      "tsx",
      "lib/local-convex/main.ts",
      ...flags({ "data-file": options.dataFile, port: options.port, functions: "convex" }),
      "--exit-with-parent",
      ...(options.watch ? ["--watch"] : []),
      ...(options.clockFile === null ? [] : flags({ "test-clock": options.clockFile })),
    ],
    env: {
      NODE_ENV: "production",
      HOLDFAST_SERVER_SECRETS: options.secrets.serverSecret,
      HOLDFAST_OPERATOR_KEY_HASH: hashApiKey(options.secrets.operatorKey),
      HOLDFAST_SHORT_URL: options.shortUrl,
      LOCAL_CONVEX_BACKUP_KEY: backupKeyOf(options.secrets),
      ...options.kindeEnv,
    },
  };
}

/** What the engine asks of those who have its database copied. Not a secret of its own, so that there is none to lose. */
export function backupKeyOf({ serverSecret }: Pick<Secrets, "serverSecret">): string {
  return createHmac("sha256", serverSecret).update("backup").digest("hex");
}

/** The Kinde emulator on its own state file. It binds 127.0.0.1 only and ends when its stdin closes. */
export function emulatorSpec(options: {
  dataFile: string;
  port: number;
  clockFile: string | null;
  env: Record<string, string>;
}): ChildSpec {
  return {
    name: EMULATOR,
    args: [
      "--import",
      "tsx",
      "lib/kinde/emulator/main.ts",
      ...flags({ "data-file": options.dataFile, port: options.port }),
      "--exit-with-parent",
      ...(options.clockFile === null ? [] : flags({ "test-clock": options.clockFile })),
    ],
    env: { NODE_ENV: "production", ...options.env },
  };
}

/** The web server: the fast lane and the production build behind it, or `next dev` with reload and nothing in front. */
export function webSpec(options: {
  host: string;
  port: number;
  convexUrl: string;
  serverSecret: string;
  /** What the sign-in library reads. */
  kindeEnv: Record<string, string>;
  /** The base of short links. */
  shortUrl: string;
  /** Where clicks are kept that are not in the ledger yet. */
  spoolDir: string;
  spoolFsync: boolean;
  clockFile: string | null;
  dev: boolean;
}): ChildSpec {
  return {
    name: WEB,
    args: [
      ...EXIT_WITH_PARENT,
      ...(options.dev ? ["node_modules/next/dist/bin/next", "dev"] : ["--import", "tsx", "scripts/serve.ts"]),
      ...flags({ hostname: options.host, port: options.port }),
    ],
    env: {
      NODE_ENV: options.dev ? "development" : "production",
      NEXT_TELEMETRY_DISABLED: "1",
      CONVEX_URL: options.convexUrl,
      HOLDFAST_SERVER_SECRET: options.serverSecret,
      HOLDFAST_SHORT_URL: options.shortUrl,
      HOLDFAST_SPOOL_DIR: options.spoolDir,
      HOLDFAST_SPOOL_FSYNC: options.spoolFsync ? "1" : "",
      HOLDFAST_TEST_CLOCK: options.clockFile ?? "",
      ...options.kindeEnv,
    },
  };
}

function flags(values: Record<string, string | number>): string[] {
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** Where a server bound to `host` is reached from this machine. */
export function localUrl(host: string, port: number): string {
  const anyHost = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${anyHost.includes(":") ? `[${anyHost}]` : anyHost}:${port}`;
}
