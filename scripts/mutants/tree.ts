/** A copy of the repository to break rules in, and what its tests say. */
import { execFileSync, spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { ROOT } from "../support/root.ts";
import { placeOf } from "./catalogue.ts";
import type { Mutant } from "./mutant.ts";

/** A fault may make a test wait for ever, and then nothing says that it is the fault. */
const FILE_MS_MAX = 900_000;
const SEED_MS_MAX = 120_000;
const REPORT = "mutants-report.json";

export type Verdict =
  | { readonly kind: "passed" }
  /** It took too long. A slow machine has noticed nothing. */
  | { readonly kind: "no_end" }
  /** The first test that failed, or why the file did not come to its tests. */
  | { readonly kind: "failed"; readonly test: string };

export class Tree {
  readonly path = mkdtempSync(join(tmpdir(), "holdfast-mutants-"));
  /** Of what runs in it now. */
  private group: number | null = null;

  /** What git has and what is new, as it is now. */
  constructor() {
    const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    for (const file of execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).split("\0")) {
      if (file === "" || !existsSync(join(ROOT, file))) continue;
      mkdirSync(dirname(join(this.path, file)), { recursive: true });
      copyFileSync(join(ROOT, file), join(this.path, file));
    }
    symlinkSync(join(ROOT, "node_modules"), join(this.path, "node_modules"));
  }

  /** Runs `work` while the mutant is in. Null when its text is not in its file exactly once. */
  async with<T>({ file, original, replacement }: Mutant, work: () => Promise<T>): Promise<T | null> {
    const path = join(this.path, file);
    const source = readFileSync(path, "utf8");
    const at = placeOf(source, original);
    if (at === null) return null;
    writeFileSync(path, source.slice(0, at) + replacement + source.slice(at + original.length));
    try {
      return await work();
    } finally {
      writeFileSync(path, source);
    }
  }

  /** One file of tests/, up to its first failure. */
  async test(name: string): Promise<Verdict> {
    const report = join(this.path, REPORT);
    rmSync(report, { force: true });
    const args = [
      "vitest",
      "run",
      `tests/${name}`,
      "--bail",
      "1",
      "--reporter=json",
      `--outputFile=${report}`,
    ];
    const end = await this.run("npx", args, FILE_MS_MAX);
    if (end !== "failed") return { kind: end === "ok" ? "passed" : "no_end" };
    return {
      kind: "failed",
      test: existsSync(report) ? firstFailure(readFileSync(report, "utf8")) : "no report",
    };
  }

  /** The world of lib/simulator, seeds from 1 on. */
  async simulate(seeds: number): Promise<Verdict> {
    const args = ["--import", "tsx", "scripts/simulate.ts", "--seeds", `1..${seeds}`, "--no-shrink"];
    const end = await this.run(process.execPath, args, seeds * SEED_MS_MAX);
    if (end !== "failed") return { kind: end === "ok" ? "passed" : "no_end" };
    return { kind: "failed", test: `seeds 1..${seeds}` };
  }

  /** With whatever still runs in it. */
  remove(): void {
    this.stop();
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  /** In a group of its own: what a test started ends with it. */
  private run(
    program: string,
    args: readonly string[],
    msMax: number,
  ): Promise<"ok" | "failed" | "too long"> {
    return new Promise((resolve) => {
      const child = spawn(program, args, { cwd: this.path, stdio: "ignore", detached: true });
      this.group = child.pid ?? null;
      const timer = setTimeout(() => {
        this.stop();
        resolve("too long");
      }, msMax);
      child.once("close", (code) => {
        clearTimeout(timer);
        this.group = null;
        resolve(code === 0 ? "ok" : "failed");
      });
    });
  }

  private stop(): void {
    if (this.group !== null) process.kill(-this.group, "SIGKILL");
    this.group = null;
  }
}

interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

function firstFailure(text: string): string {
  const { testResults } = JSON.parse(text) as Report;
  const failed = testResults
    .flatMap((file) => file.assertionResults)
    .find(({ status }) => status === "failed");
  if (failed !== undefined) {
    const isSlow = failed.failureMessages.some((message) => message.includes("timed out in"));
    return failed.fullName + (isSlow ? " (TIMED OUT: run it again on a machine that is idle)" : "");
  }
  return `nothing ran: ${testResults.find(({ message }) => message !== "")?.message.split("\n")[0] ?? "no test"}`;
}
