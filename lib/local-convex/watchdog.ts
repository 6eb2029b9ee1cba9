/**
 * Ends the process when its one thread is stuck, for example in an endless loop of a function. A second
 * thread watches a heartbeat; it says one clear line and kills, since nothing else can run any more.
 */
import { Worker } from "node:worker_threads";

const BEAT_MS = 500;

const WATCHER = `
const { workerData } = require("node:worker_threads");
const { writeSync } = require("node:fs");
const beat = new Int32Array(workerData.shared);
let last = Atomics.load(beat, 0);
let sinceMs = performance.now();
setInterval(() => {
  const now = Atomics.load(beat, 0);
  if (now !== last) { last = now; sinceMs = performance.now(); return; }
  if (performance.now() - sinceMs < workerData.stuckMs) return;
  writeSync(2, "local-convex: stuck for " + workerData.stuckMs / 1000 + " s in one function; ending the process.\\n");
  process.kill(process.pid, "SIGKILL");
}, workerData.beatMs);
`;

/** Starts watching; returns how to stop. `stuckMs` must be well above the longest flush to disk. */
export function startWatchdog(stuckMs: number): () => void {
  const shared = new SharedArrayBuffer(4);
  const beat = new Int32Array(shared);
  const beatMs = Math.min(BEAT_MS, stuckMs / 4);
  const timer = setInterval(() => Atomics.add(beat, 0, 1), beatMs);
  const worker = new Worker(WATCHER, { eval: true, workerData: { shared, stuckMs, beatMs } });
  worker.unref();
  return () => {
    clearInterval(timer);
    void worker.terminate();
  };
}
