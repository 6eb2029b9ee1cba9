// What a soak measures from outside: memory and open files of each process of a stack, and the size of its files.
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { EMULATOR_FILE, ENGINE_FILE, SPOOL_FOLDER } from "../support/backup-files.ts";
import { CliError } from "../support/cli.mjs";
import { EMULATOR, ENGINE, WEB } from "../support/stack.ts";

/** What the command line of each process has in it. */
const MARKS: readonly (readonly [name: string, mark: string])[] = [
  [ENGINE, "lib/local-convex/main.ts"],
  [EMULATOR, "lib/kinde/emulator/main.ts"],
  [WEB, "scripts/serve.ts"],
];
const SUPERVISOR = "supervisor";
const PAGE_KB_FIELD = /^VmRSS:\s+(\d+) kB/m;

export type Processes = Readonly<Record<string, number>>;

/** Throws CliError where the system has no /proc. */
export function requireProc(): void {
  if (!existsSync("/proc/self/status"))
    throw new CliError("a soak reads /proc, which this system does not have");
}

/** Process ids by name, of a stack whose supervisor has this one. */
export function processesOf(supervisorPid: number): Processes {
  const found: Record<string, number> = { [SUPERVISOR]: supervisorPid };
  const children = readFileSync(`/proc/${supervisorPid}/task/${supervisorPid}/children`, "utf8").trim();
  for (const pid of children.split(" ").map(Number)) {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    const name = MARKS.find(([, mark]) => command.includes(mark))?.[0];
    if (name !== undefined) found[name] = pid;
  }
  return found;
}

/** Megabytes and open files of each process. */
export function measureProcesses(processes: Processes): Record<string, number> {
  const measured: Record<string, number> = {};
  for (const [name, pid] of Object.entries(processes)) {
    const [, kb = "0"] = PAGE_KB_FIELD.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    measured[`memory of ${name}, MB`] = Number(kb) / 1024;
    measured[`open files of ${name}`] = readdirSync(`/proc/${pid}/fd`).filter((fd) => isFile(pid, fd)).length;
  }
  return measured;
}

/** Sockets come and go with the load; what may leak for ever are files and pipes, and sockets that nobody closes. */
function isFile(pid: number, fd: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`) !== "";
  } catch {
    return false;
  }
}

/** Megabytes of the files of a data directory, and how many segments of clicks there are. */
export function measureFiles(dataDir: string): Record<string, number> {
  const spool = join(dataDir, SPOOL_FOLDER);
  const names = existsSync(spool) ? readdirSync(spool) : [];
  return {
    "database, MB": megabytes(join(dataDir, ENGINE_FILE)),
    "log of the database, MB": megabytes(join(dataDir, `${ENGINE_FILE}-wal`)),
    "file of the emulator, MB": megabytes(join(dataDir, EMULATOR_FILE)),
    "log of the emulator, MB": megabytes(join(dataDir, `${EMULATOR_FILE}-wal`)),
    "spool segments": names.filter((name) => name.endsWith(".clicks")).length,
    "spool files set aside": names.filter((name) => /\.(damaged|refused)$/.test(name)).length,
  };
}

function megabytes(path: string): number {
  try {
    return statSync(path).size / 1024 ** 2;
  } catch {
    return 0;
  }
}
