import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { takeLock, type Lock } from "../../shared/file-lock.ts";

/** Visitors' browsers and referrers stand in these files: they are for the owner of the process only. */
const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;

const SEGMENT_NAME = /^([0-9a-f]{32})\.(\d{8})\.clicks$/;
const LOCK_NAME = /^([0-9a-f]{32})\.lock$/;

export function segmentPath(folder: string, spoolId: string, number: number): string {
  return join(folder, `${spoolId}.${String(number).padStart(8, "0")}.clicks`);
}

export function lockPath(folder: string, spoolId: string): string {
  return join(folder, `${spoolId}.lock`);
}

export function createFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
}

/** Files that a process left behind, now under a lock of this one. Oldest first. */
export interface Claim {
  readonly paths: readonly string[];
  readonly lock: Lock;
}

/**
 * Claims what processes of this machine left behind: a spool whose lock names no live process. Processes are told
 * apart by pid and start time, so a folder must not be shared between machines or pid namespaces.
 */
export function claimAbandoned(folder: string, ownId: string): Claim[] {
  const byId = new Map<string, string[]>();
  for (const name of readdirSync(folder).toSorted()) {
    const spoolId = (SEGMENT_NAME.exec(name) ?? LOCK_NAME.exec(name))?.[1];
    if (spoolId === undefined || spoolId === ownId) continue;
    const paths = byId.get(spoolId) ?? [];
    if (SEGMENT_NAME.test(name)) paths.push(join(folder, name));
    byId.set(spoolId, paths);
  }
  const claims: Claim[] = [];
  for (const [spoolId, paths] of byId) {
    const outcome = takeLock(lockPath(folder, spoolId));
    if (outcome.kind !== "taken") continue;
    if (paths.length > 0) claims.push({ paths, lock: outcome.lock });
    else outcome.lock.release();
  }
  return claims;
}

/** Writes a file so that it is there whole or not at all, also after a loss of power. The same content again is fine. */
export function writeWhole(path: string, bytes: Buffer): void {
  const aside = `${path}.new`;
  const fd = openSync(aside, "w", FILE_MODE);
  try {
    writeAll(fd, bytes, writeSync);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(aside, path);
}

export type WriteBytes = (fd: number, bytes: Buffer, offset: number) => number;

/** A write may take less than it is given. Throws what the system says, with any part of the bytes written. */
export function writeAll(fd: number, bytes: Buffer, write: WriteBytes): void {
  for (let offset = 0; offset < bytes.length;) offset += write(fd, bytes, offset);
}

export function removeFile(path: string): void {
  rmSync(path, { force: true });
}
