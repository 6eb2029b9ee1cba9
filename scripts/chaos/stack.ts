// The processes of `npm start`, each of which can be killed and started again on its port and its data.
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import type { ChildSpec } from "../support/children.ts";
import { planKinde } from "../support/kinde.ts";
import { ROOT } from "../support/root.ts";
import { openDataDir } from "../support/data-dir.ts";
import { openSecrets, type Secrets } from "../support/secrets.ts";
import { emulatorSpec, engineSpec, webSpec } from "../support/stack.ts";
import { freePorts } from "../support/temp-stack.ts";
import { waitHealthy } from "../support/wait-healthy.ts";

const HOST = "127.0.0.1";
/** A part that was killed starts in seconds; two cores may be shared with other work. */
const HEALTHY_TIMEOUT_MS = 120_000;
/** How long a part may take to end when it is asked to. The web process writes its clicks meanwhile. */
const STOP_GRACE_MS = 15_000;
/** Real time per time that webhooks wait for their next attempt: 5 s, 30 s, 2 min become 50 ms, 300 ms, 1.2 s. */
const WEBHOOK_TIME_SCALE = "0.01";

export type PartName = "engine" | "web" | "emulator";
export const PARTS: readonly PartName[] = ["emulator", "engine", "web"];

interface Part {
  readonly spec: ChildSpec;
  readonly healthUrl: string;
  process: ChildProcess | null;
  ended: Promise<void>;
}

/** The stack under the hammer. There is no supervisor: what is killed is started again by whoever killed it. */
export class ChaosStack {
  readonly url: string;
  readonly convexUrl: string;
  readonly kindeUrl: string;
  readonly secrets: Secrets;
  readonly dataDir: string;
  readonly #parts: Readonly<Record<PartName, Part>>;
  readonly #logDir: string;

  private constructor(dataDir: string, ports: { port: number; convexPort: number; kindePort: number }) {
    openDataDir(dataDir);
    const { port, convexPort, kindePort } = ports;
    const secrets = openSecrets(dataDir);
    const env = { KINDE_EMULATOR_WEBHOOK_TIME_SCALE: WEBHOOK_TIME_SCALE };
    const kinde = planKinde({ env, secrets, host: HOST, port, kindePort, convexUrl: null });
    const convexUrl = `http://${HOST}:${convexPort}`;
    const { shortUrl } = kinde;
    const specs: Record<PartName, ChildSpec> = {
      emulator: emulatorSpec({
        dataFile: join(dataDir, "kinde.sqlite"),
        port: kindePort,
        clockFile: null,
        env: kinde.emulator?.env ?? {},
      }),
      engine: engineSpec({
        dataFile: join(dataDir, "convex.sqlite"),
        port: convexPort,
        clockFile: null,
        secrets,
        kindeEnv: kinde.functionsEnv,
        shortUrl,
        watch: false,
      }),
      web: webSpec({
        host: HOST,
        port,
        convexUrl,
        serverSecret: secrets.serverSecret,
        kindeEnv: kinde.webEnv,
        shortUrl,
        spoolDir: join(dataDir, "spool"),
        spoolFsync: false,
        clockFile: null,
        dev: false,
      }),
    };
    this.dataDir = dataDir;
    this.secrets = secrets;
    this.url = `http://${HOST}:${port}`;
    this.convexUrl = convexUrl;
    this.kindeUrl = kinde.issuerUrl;
    this.#logDir = join(dataDir, "logs");
    mkdirSync(this.#logDir, { recursive: true });
    const part = (name: PartName, healthUrl: string): Part => {
      return { spec: specs[name], healthUrl, process: null, ended: Promise.resolve() };
    };
    this.#parts = {
      emulator: part("emulator", `${this.kindeUrl}/.well-known/openid-configuration`),
      engine: part("engine", `${convexUrl}/version`),
      // Not its health, which is also that of the engine: a web process without one is up all the same.
      web: part("web", `${this.url}/api/v1/openapi.json`),
    };
  }

  /** Prepares a stack on free ports. Nothing runs yet. */
  static async prepare(dataDir: string): Promise<ChaosStack> {
    return new ChaosStack(dataDir, await freePorts());
  }

  /** Starts parts without waiting for them. */
  start(names: readonly PartName[]): void {
    for (const name of names) this.#start(this.#parts[name]);
  }

  /** Resolves when the parts answer. Throws CliError when one does not within two minutes. */
  async ready(names: readonly PartName[]): Promise<void> {
    const { signal } = new AbortController();
    for (const name of names) {
      const { spec, healthUrl } = this.#parts[name];
      await waitHealthy(`${spec.name} (its lines are in ${this.#logDir})`, healthUrl, {
        timeoutMs: HEALTHY_TIMEOUT_MS,
        signal,
      });
    }
  }

  /** SIGKILL to all of them at one instant, with whatever they started. Resolves when they are gone. */
  async kill(names: readonly PartName[]): Promise<void> {
    const parts = names.map((name) => this.#parts[name]);
    for (const { process: child } of parts) signalGroup(child, "SIGKILL");
    await Promise.all(parts.map(({ ended }) => ended));
  }

  /** The parts that ended although nobody killed them; asked between kills. */
  dead(): PartName[] {
    return PARTS.filter((name) => {
      const child = this.#parts[name].process;
      return child !== null && (child.exitCode !== null || child.signalCode !== null);
    });
  }

  /** Ends everything as Ctrl-C does, the web process first, so that it can hand its clicks over. */
  async stop(): Promise<void> {
    for (const name of PARTS.toReversed()) {
      const { process: child, ended } = this.#parts[name];
      signalGroup(child, "SIGTERM");
      const timer = setTimeout(() => signalGroup(child, "SIGKILL"), STOP_GRACE_MS);
      await ended;
      clearTimeout(timer);
    }
  }

  #start(part: Part): void {
    const { spec } = part;
    const log = openSync(join(this.#logDir, `${spec.name}.log`), "a", 0o600);
    const child = spawn(process.execPath, spec.args, {
      cwd: ROOT,
      env: { ...process.env, ...spec.env },
      // Stdin is a pipe that closes with us: no part outlives its run, however that ended.
      stdio: ["pipe", log, log],
      detached: true,
    });
    closeSync(log);
    child.stdin?.on("error", () => undefined);
    part.process = child;
    part.ended = new Promise((resolve) => {
      child.once("error", () => resolve());
      child.once("close", () => resolve());
    });
  }
}

function signalGroup(child: ChildProcess | null, signal: NodeJS.Signals): void {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    child.kill(signal);
  }
}
