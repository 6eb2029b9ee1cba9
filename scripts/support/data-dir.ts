import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeToOthers, PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE } from "../../lib/shared/private-files.ts";
import { CliError } from "./cli.mjs";

/** What the parts keep in a data directory. Nothing else in the folder is touched. */
const OWN_FILE =
  /^(?:(?:convex|kinde)\.sqlite(?:-wal|-shm|-journal)?|clock\.json|supervisor\.lock|server-secret|operator-key|kinde-(?:client-secret|m2m-secret|control-key))$/;
const SPOOL = "spool";
const STICKY = 0o1000;
/** More than one block, so that a disk without room shows. */
const PROBE_BYTES = 8_192;

const FAULTS: Readonly<Record<string, string>> = {
  EROFS: "it is on a read-only file system",
  EACCES: "this user may not write there",
  EPERM: "it belongs to another user",
  ENOSPC: "no space is left on its disk",
  EDQUOT: "the quota of its disk is used up",
  EIO: "its disk fails",
  EEXIST: "a file is in its place",
  ENOTDIR: "a file is in its place",
  ENOENT: "the folders above it cannot be made",
};

/**
 * Creates the data directory, shows that it can be written, and closes it to other users, with what an older start left
 * open in it. Throws CliError, one line with the folder, what failed and the option that changes it.
 */
export function openDataDir(dataDir: string, write: typeof writeFileSync = writeFileSync): void {
  try {
    makeFolder(dataDir);
    if (!statSync(dataDir).isDirectory()) throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
    closeFolder(dataDir);
    probe(join(dataDir, `write-test.${process.pid}`), write);
  } catch (cause) {
    const code = errorCode(cause);
    const reason = FAULTS[code ?? ""] ?? reasonOf(cause);
    const named = code !== undefined && code in FAULTS ? ` (${code})` : "";
    throw new CliError(
      `the data folder ${dataDir} cannot be used: ${reason}${named}; mend that, or choose another with --data-dir`,
      { cause },
    );
  }
}

/** Asked for a folder with those above it, Node says ENOENT whatever kept it; asked for one alone, it says what did. */
function makeFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    mkdirSync(dataDir, { mode: PRIVATE_FOLDER_MODE });
  }
}

/**
 * A folder of ours, or an empty one that becomes ours. One that holds other things keeps its rights: it may be shared,
 * and our files in it are closed by themselves.
 */
function closeFolder(dataDir: string): void {
  const names = readdirSync(dataDir);
  const isOurs = names.length === 0 || names.includes("server-secret");
  const isShared = (statSync(dataDir).mode & STICKY) !== 0;
  if (isOurs && !isShared) closeToOthers(dataDir, PRIVATE_FOLDER_MODE);
  for (const name of names) if (OWN_FILE.test(name)) closeFile(join(dataDir, name));
  const spool = join(dataDir, SPOOL);
  if (!existsSync(spool) || !lstatSync(spool).isDirectory()) return;
  closeToOthers(spool, PRIVATE_FOLDER_MODE);
  for (const name of readdirSync(spool)) closeFile(join(spool, name));
}

/** A link leads elsewhere, where these rights may not be ours to set; a file may go while it is looked at. */
function closeFile(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === true) closeToOthers(path);
}

function probe(path: string, write: typeof writeFileSync): void {
  try {
    write(path, Buffer.alloc(PROBE_BYTES), { mode: PRIVATE_FILE_MODE, flush: true });
  } finally {
    rmSync(path, { force: true });
  }
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function reasonOf(error: unknown): string {
  return errorCode(error) ?? (error instanceof Error ? error.message : String(error));
}
