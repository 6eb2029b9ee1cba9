/**
 * What the engine waits on, measures time with and reaches the network by. The names are those of the platform, and
 * so is the default; a simulation brings its own, in which nothing depends on the machine.
 */
export interface EngineHost {
  /** Milliseconds since some instant. Never goes back, whatever becomes of the time of day. */
  elapsedMs(): number;
  /** Milliseconds that this process had a processor for. Asks the system, which takes some microseconds. */
  cpuMs(): number;
  /** What `cpuMs` said not more than `CPU_SAMPLE_MS` ago. For what is asked at every call. */
  recentCpuMs(): number;
  setImmediate(run: () => void): void;
  setTimeout(run: () => void, ms?: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Keeps no process alive. */
  setInterval(run: () => void, ms?: number): unknown;
  clearInterval(timer: unknown): void;
  /** What actions see. */
  fetch: typeof fetch;
}

/** Small against the second that the time of a function is held to. */
export const CPU_SAMPLE_MS = 10;

let sampled = { atMs: Number.NEGATIVE_INFINITY, cpuMs: 0 };

function sampleCpu(): number {
  const { user, system } = process.cpuUsage();
  sampled = { atMs: performance.now(), cpuMs: (user + system) / 1_000 };
  return sampled.cpuMs;
}

export const systemHost: EngineHost = {
  elapsedMs: () => performance.now(),
  cpuMs: sampleCpu,
  recentCpuMs: () => (performance.now() - sampled.atMs < CPU_SAMPLE_MS ? sampled.cpuMs : sampleCpu()),
  setImmediate: (run) => void setImmediate(run),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  setInterval: (run, ms) => setInterval(run, ms).unref(),
  clearInterval: (timer) => clearInterval(timer as NodeJS.Timeout),
  fetch: (input, init) => fetch(input, init),
};

/** Resolves in a later turn of the event loop. */
export function nextTurn(host: EngineHost): Promise<void> {
  return new Promise((resolve) => {
    host.setImmediate(resolve);
  });
}

export function sleep(host: EngineHost, ms: number): Promise<void> {
  return new Promise((resolve) => {
    host.setTimeout(resolve, ms);
  });
}
