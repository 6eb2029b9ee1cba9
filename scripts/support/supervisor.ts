// From a data directory and two ports to a running stack, and back to nothing. scripts/start.ts is its command line.
import { join } from "node:path";
import { type LockOwner, takeLock } from "../../lib/shared/file-lock.ts";
import { ensureBuilt } from "./build.ts";
import { Children, describeExit, type ChildExit, type ChildSpec } from "./children.ts";
import { CliError } from "./cli.mjs";
import { runAudit } from "./convex-call.ts";
import { type KindeStack, planKinde, requireOwnSettings } from "./kinde.ts";
import { requirePort } from "./ports.ts";
import { requireSqlite } from "./preflight.ts";
import { openDataDir } from "./data-dir.ts";
import { openSecrets, type Secrets } from "./secrets.ts";
import { EMULATOR, emulatorSpec, ENGINE, engineSpec, localUrl, webSpec } from "./stack.ts";
import { prepareClock } from "./test-clock.ts";
import { waitHealthy } from "./wait-healthy.ts";
import { warmUp } from "./warm-up.ts";

export interface SupervisorOptions {
  readonly root: string;
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly convexPort: number;
  readonly kindePort: number;
  readonly testClock: boolean;
  /** Answers of redirects wait for the disk. */
  readonly spoolFsync: boolean;
  readonly dev: boolean;
  /** A Convex deployment that runs elsewhere: then no local-convex is started. */
  readonly convexUrl: string | null;
}

const LOOPBACK = "127.0.0.1";
const HEALTHY_TIMEOUT_MS = 60_000;
/** `next dev` compiles before its first answer. */
const HEALTHY_TIMEOUT_DEV_MS = 180_000;
/** The children of a supervisor that was killed notice within moments; their ports come free then. */
const ORPHAN_GRACE_MS = 7000;

/**
 * Runs the stack until `stop` is aborted or a part ends by itself. Returns the exit code: 0 when asked to stop,
 * 1 when a part ended. Throws CliError for whatever keeps it from starting; nothing is left running then.
 */
export async function supervise(options: SupervisorOptions, stop: AbortController): Promise<number> {
  openDataDir(options.dataDir);
  const lockPath = join(options.dataDir, "supervisor.lock");
  const outcome = takeLock(lockPath, noteOf(options));
  if (outcome.kind === "held") {
    throw new CliError(
      `already running on ${options.dataDir} (process ${outcome.owner.pid}); stop it first, or choose another --data-dir`,
    );
  }
  if (outcome.kind === "contended") {
    throw new CliError(`the lock ${lockPath} cannot be taken; delete it when its owner is gone`);
  }
  const { lock } = outcome;
  const children = new Children(options.root);
  stop.signal.addEventListener("abort", () => void children.stopAll(), { once: true });
  let death: ChildExit | null = null;
  const watch = async (spec: ChildSpec) => {
    const exit = await children.start(spec);
    if (children.stopping) return;
    death = exit;
    stop.abort();
  };
  try {
    await startStack(options, {
      children,
      watch,
      signal: stop.signal,
      graceMs: lock.takenOver ? ORPHAN_GRACE_MS : 0,
    });
    await aborted(stop.signal);
  } catch (error) {
    // What fails because everything is being stopped is not the fault to tell about.
    if (!stop.signal.aborted) throw error;
  } finally {
    await children.stopAll();
    lock.release();
  }
  return report(death);
}

/** For `npm run clock` and `npm run backup`, which find the running stack by its lock. */
function noteOf({ testClock, convexUrl, convexPort, kindePort }: SupervisorOptions): LockOwner["note"] {
  const engineUrl = convexUrl === null ? `http://${LOOPBACK}:${convexPort}` : "";
  const isEmulated = (process.env["KINDE_ISSUER_URL"] ?? "") === "";
  return { testClock, engineUrl, emulatorUrl: isEmulated ? `http://${LOOPBACK}:${kindePort}` : "" };
}

interface Starting {
  readonly children: Children;
  /** Starts a part that must not end by itself. Settles when it has ended, so nobody waits for it. */
  readonly watch: (spec: ChildSpec) => Promise<void>;
  readonly signal: AbortSignal;
  readonly graceMs: number;
}

async function startStack(options: SupervisorOptions, starting: Starting): Promise<void> {
  const { signal } = starting;
  const secrets = openSecrets(options.dataDir);
  requireOwnSettings(process.env);
  const kinde = planKinde({ ...options, env: process.env, secrets });
  await requirePorts(options, kinde, starting.graceMs);
  if (!options.dev) await ensureBuilt(options.root, starting.children);
  if (signal.aborted) return;

  const clockFile =
    options.convexUrl === null ? prepareClock(options.dataDir, options.testClock, Date.now()) : null;
  await startEmulator(options, kinde, clockFile, starting);
  const convexUrl = await startConvex(options, { secrets, kinde, clockFile }, starting);
  if (signal.aborted) return;
  const audit = await runAudit(convexUrl, secrets, signal);
  console.log(`audit: ${audit.budgets} budgets checked, ${audit.repaired} repaired`);

  const { host, port, dev } = options;
  const webUrl = localUrl(host, port);
  const { serverSecret } = secrets;
  const web = { host, port, convexUrl, serverSecret, kindeEnv: kinde.webEnv, clockFile, dev };
  const clicks = { spoolDir: join(options.dataDir, "spool"), spoolFsync: options.spoolFsync };
  void starting.watch(webSpec({ ...web, ...clicks, shortUrl: kinde.shortUrl }));
  const timeoutMs = dev ? HEALTHY_TIMEOUT_DEV_MS : HEALTHY_TIMEOUT_MS;
  if (!(await waitHealthy("the app", `${webUrl}/api/health`, { timeoutMs, signal }))) return;
  if (!dev) console.log(`warm-up: ${await warmUp({ webUrl, convexUrl, secrets, signal })}`);
  if (signal.aborted) return;
  console.log(welcome(options, { convexUrl, webUrl, secrets, kinde }));
}

async function requirePorts(options: SupervisorOptions, kinde: KindeStack, graceMs: number): Promise<void> {
  const { host, port, convexPort } = options;
  await requirePort({ what: "the app", host, port, option: "--port", hostOption: "--host" }, graceMs);
  if (kinde.emulator !== null) {
    const emulator = { what: "the Kinde emulator", host: LOOPBACK, port: kinde.emulator.port };
    await requirePort({ ...emulator, option: "--kinde-port", hostOption: "--host" }, graceMs);
  }
  if (options.convexUrl !== null) return;
  const engine = { what: ENGINE, host: LOOPBACK, port: convexPort };
  await requirePort({ ...engine, option: "--convex-port", hostOption: "--host" }, graceMs);
}

/** Before Convex, which reads limits from it. */
async function startEmulator(
  options: SupervisorOptions,
  { emulator, issuerUrl }: KindeStack,
  clockFile: string | null,
  starting: Starting,
): Promise<void> {
  if (emulator === null) return;
  requireSqlite();
  const dataFile = join(options.dataDir, "kinde.sqlite");
  void starting.watch(emulatorSpec({ ...emulator, dataFile, clockFile }));
  const waiting = { timeoutMs: HEALTHY_TIMEOUT_MS, signal: starting.signal };
  await waitHealthy(EMULATOR, `${issuerUrl}/.well-known/openid-configuration`, waiting);
}

/** The URL of the Convex deployment, once it answers. */
async function startConvex(
  options: SupervisorOptions,
  { secrets, kinde, clockFile }: { secrets: Secrets; kinde: KindeStack; clockFile: string | null },
  starting: Starting,
): Promise<string> {
  const { signal } = starting;
  const waiting = { timeoutMs: HEALTHY_TIMEOUT_MS, signal };
  if (options.convexUrl !== null) {
    await waitHealthy("the Convex deployment in CONVEX_URL", `${options.convexUrl}/version`, waiting);
    return options.convexUrl;
  }
  requireSqlite();
  const dataFile = join(options.dataDir, "convex.sqlite");
  const url = `http://${LOOPBACK}:${options.convexPort}`;
  void starting.watch(
    engineSpec({
      dataFile,
      port: options.convexPort,
      clockFile,
      secrets,
      kindeEnv: kinde.functionsEnv,
      shortUrl: kinde.shortUrl,
      watch: options.dev,
    }),
  );
  await waitHealthy(ENGINE, `${url}/version`, waiting);
  return url;
}

interface Running {
  readonly convexUrl: string;
  readonly webUrl: string;
  readonly secrets: Secrets;
  readonly kinde: KindeStack;
}

function welcome(options: SupervisorOptions, { convexUrl, webUrl, secrets, kinde }: Running): string {
  const url = options.host === LOOPBACK ? kinde.siteUrl : webUrl;
  return [
    "",
    "Holdfast runs.",
    `  app           ${url}`,
    `  API           ${url}/api/v1`,
    `  Convex        ${convexUrl}`,
    kinde.emulator === null
      ? `  sign-in       ${kinde.issuerUrl}`
      : `  sign-in       ${kinde.issuerUrl} (emulator: any name signs in, no password)`,
    `  data          ${options.dataDir}`,
    `  operator key  in ${secrets.operatorKeyFile}`,
    ...(options.testClock ? ["  test clock    on; move it with: npm run clock -- --advance 10m"] : []),
    "  Ctrl-C stops everything.",
    "",
  ].join("\n");
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function report(death: ChildExit | null): number {
  if (death === null) {
    console.log("stopped");
    return 0;
  }
  console.error(`holdfast: ${death.name} ended by itself (${describeExit(death)}); stopped the rest`);
  return 1;
}
