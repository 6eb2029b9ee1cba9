import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "./cli.mjs";

export type PortState = "free" | "taken" | "forbidden" | "no_such_host";

/** Tries to listen and lets go again: the only test of a port that tells the truth. */
export async function probePort(host: string, port: number): Promise<PortState> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const state = portStateOf(error.code);
      if (state) resolve(state);
      else reject(error);
    });
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve("free")));
  });
}

function portStateOf(code: string | undefined): PortState | null {
  if (code === "EADDRINUSE") return "taken";
  if (code === "EACCES") return "forbidden";
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") return "no_such_host";
  return null;
}

const PROBE_EVERY_MS = 100;

/**
 * Throws CliError, one line that names the port and the option to change it, when the port cannot be had.
 * `graceMs`: how long to wait for a port whose owner is known to be ending.
 */
export async function requirePort(
  use: { what: string; host: string; port: number; option: string; hostOption: string },
  graceMs: number,
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += PROBE_EVERY_MS) {
    const state = await probePort(use.host, use.port);
    if (state === "free") return;
    if (state === "taken" && waitedMs < graceMs) {
      await sleep(PROBE_EVERY_MS);
      continue;
    }
    throw new CliError(portFault(state, use));
  }
}

function portFault(
  state: Exclude<PortState, "free">,
  { what, host, port, option, hostOption }: Parameters<typeof requirePort>[0],
): string {
  if (state === "taken") return `port ${port} (${what}) is in use; choose another with ${option}`;
  if (state === "forbidden") return `port ${port} (${what}) needs more rights; choose another with ${option}`;
  return `${host} is not an address of this machine; choose another with ${hostOption}`;
}

/** A port nothing listens on right now. */
export async function freePort(host = "127.0.0.1"): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port: 0 }, () => {
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
