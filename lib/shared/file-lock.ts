// One owner at a time. The lock is a file that names its owner; a lock whose owner is gone is taken over.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** What a lock file says about its owner. */
export interface LockOwner {
  readonly pid: number;
  /** Start of the process in kernel ticks, where the system tells: a pid alone may have been given to another. */
  readonly startTicks: string | null;
  /** What the owner says of itself to those who find it running. */
  readonly note: Readonly<Record<string, string | boolean>>;
}

export interface Lock {
  /** The lock had been left behind by an owner that was killed. Its children may still be ending. */
  readonly takenOver: boolean;
  release(): void;
}

/** Two starters may find the same stale lock; each loses at most this many rounds before one of them owns it. */
const ATTEMPTS_MAX = 5;

export type LockOutcome =
  | { readonly kind: "taken"; readonly lock: Lock }
  | { readonly kind: "held"; readonly owner: LockOwner }
  /** Others were faster every time, or the file cannot be moved away. */
  | { readonly kind: "contended" };

/** Takes the lock, or says which live process has it. */
export function takeLock(path: string, note: LockOwner["note"] = {}): LockOutcome {
  const mine: LockOwner = { pid: process.pid, startTicks: startTicks(process.pid), note };
  let takenOver = false;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    if (createLock(path, mine)) {
      return { kind: "taken", lock: { takenOver, release: () => releaseLock(path, mine) } };
    }
    const owner = readLock(path);
    if (owner && isAlive(owner)) return { kind: "held", owner };
    removeStale(path, owner);
    takenOver = true;
  }
  return { kind: "contended" };
}

/** The live owner of a lock, or null when nothing holds it. */
export function lockOwner(path: string): LockOwner | null {
  const owner = readLock(path);
  return owner && isAlive(owner) ? owner : null;
}

/** Whether the very process that wrote the lock still runs. */
export function isAlive(owner: LockOwner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // EPERM: it runs, under another user.
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  const ticks = startTicks(owner.pid);
  return owner.startTicks === null || ticks === null || ticks === owner.startTicks;
}

/** Field 22 of /proc/<pid>/stat; null where there is no /proc. A zombie has ended and counts as gone. */
function startTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The command name, in parentheses, may hold spaces: count from its end.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? "ended" : (fields[19] ?? null);
  } catch {
    return null;
  }
}

function createLock(path: string, owner: LockOwner): boolean {
  const aside = `${path}.${process.pid}.new`;
  writeFileSync(aside, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
  try {
    linkSync(aside, path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function readLock(path: string): LockOwner | null {
  try {
    return parseOwner(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}

/** The owner a lock file names, or null when it does not name one. */
export function parseOwner(text: string): LockOwner | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || !("pid" in value)) return null;
  if (typeof value.pid !== "number" || !Number.isSafeInteger(value.pid) || value.pid < 1) return null;
  const ticks = "startTicks" in value && typeof value.startTicks === "string" ? value.startTicks : null;
  return { pid: value.pid, startTicks: ticks, note: "note" in value ? noteOf(value.note) : {} };
}

function noteOf(value: unknown): LockOwner["note"] {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter(
      (entry): entry is [string, string | boolean] =>
        typeof entry[1] === "string" || typeof entry[1] === "boolean",
    ),
  );
}

/** Moves the stale file away under a name of its own first: whoever moves it is the one who may delete it. */
function removeStale(path: string, stale: LockOwner | null): void {
  const aside = `${path}.${process.pid}.stale`;
  try {
    renameSync(path, aside);
  } catch {
    return; // Another starter was faster.
  }
  const moved = readLock(aside);
  if (moved && isAlive(moved) && moved.pid !== stale?.pid) {
    // Between reading and moving another starter took over. Its lock goes back.
    renameSync(aside, path);
    return;
  }
  rmSync(aside, { force: true });
}

function releaseLock(path: string, mine: LockOwner): void {
  const owner = readLock(path);
  if (owner?.pid === mine.pid && owner.startTicks === mine.startTicks) rmSync(path, { force: true });
}
