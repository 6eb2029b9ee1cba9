import { spawn } from "node:child_process";
import { once } from "node:events";
import { planKinde } from "./kinde.ts";
import { freePort } from "./ports.ts";
import { ROOT } from "./root.ts";
import { openSecrets } from "./secrets.ts";
import { waitHealthy } from "./wait-healthy.ts";

const HEALTHY_TIMEOUT_MS = 60_000;

/** The other door: a plain `next start` of the same build, as a host that runs only Next.js would have it. */
export interface TempNext {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts it on a free port, on the Convex deployment and the secrets of a running stack. The build must be there. */
export async function startTempNext(dataDir: string, convexUrl: string): Promise<TempNext> {
  const port = await freePort();
  const argv = ["start", "--hostname", "127.0.0.1", "--port", String(port)];
  const secrets = openSecrets(dataDir);
  // Nobody signs in through this door; the sign-in library only has to find its settings.
  const address = { host: "127.0.0.1", port, kindePort: await freePort() };
  const { webEnv } = planKinde({ ...address, env: {}, secrets, convexUrl: null });
  const child = spawn(process.execPath, ["node_modules/next/dist/bin/next", ...argv], {
    cwd: ROOT,
    env: {
      ...process.env,
      NODE_ENV: "production",
      NEXT_TELEMETRY_DISABLED: "1",
      CONVEX_URL: convexUrl,
      HOLDFAST_SERVER_SECRET: secrets.serverSecret,
      ...webEnv,
    },
    stdio: "ignore",
  });
  const ended = once(child, "close");
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  const { signal } = new AbortController();
  try {
    await waitHealthy("next start", `${url}/api/health`, { timeoutMs: HEALTHY_TIMEOUT_MS, signal });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, port, pid: child.pid ?? 0, stop };
}
