import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { inParallel } from "../support/load-run.mjs";
import { freePort } from "../support/ports.ts";
import { ROOT } from "../support/root.ts";
import { rounded } from "../support/statistics.mjs";
import { scattered } from "./measure.ts";
import type { FilledTable } from "./tables.ts";

const READS = 5000;
const INSERTS = 2000;
const AT_A_TIME = 50;

/**
 * Resident memory, in MB, of the engine as a process of its own on this table, after reads all over it and inserts.
 * Measured from outside: a bench in the same process would count itself.
 */
export async function engineMemoryMb({ dataFile, rows }: FilledTable, functions: string): Promise<number> {
  const port = await freePort();
  const args = [
    "--data-file",
    dataFile,
    "--port",
    String(port),
    "--functions",
    functions,
    "--exit-with-parent",
  ];
  const engine = spawn(process.execPath, ["--import", "tsx", "lib/local-convex/main.ts", ...args], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(engine, "close");
  try {
    for await (const line of createInterface({ input: engine.stdout })) if (line.includes("listening")) break;
    const next = scattered(rows, 7);
    await inParallel(READS, AT_A_TIME, () => call(port, "query", "rows:point", next()));
    await inParallel(INSERTS, AT_A_TIME, (index) => call(port, "mutation", "rows:insert", rows + index));
    const kilobytes = Number(
      execFileSync("ps", ["-o", "rss=", "-p", String(engine.pid)], { encoding: "utf8" }),
    );
    return rounded(kilobytes / 1024);
  } finally {
    engine.kill("SIGTERM");
    await ended;
  }
}

async function call(port: number, kind: "query" | "mutation", path: string, number: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/api/${kind}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ path, format: "convex_encoded_json", args: [{ number }] }),
  });
  const answer = await response.text();
  if (!answer.includes('"success"')) throw new Error(`${path}: ${answer.slice(0, 300)}`);
}
