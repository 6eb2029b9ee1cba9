import { chmodSync, statSync } from "node:fs";

/** For the owner of the process only: customers, visitors and keys stand in these files. */
export const PRIVATE_FILE_MODE = 0o600;
export const PRIVATE_FOLDER_MODE = 0o700;
const OTHERS = 0o077;

/** Takes from all others what rights they have to a file, if it is there. Throws what the system says. */
export function closeToOthers(path: string, mode = PRIVATE_FILE_MODE): void {
  const now = statSync(path, { throwIfNoEntry: false })?.mode;
  if (now !== undefined && (now & OTHERS) !== 0) chmodSync(path, mode);
}

/** An SQLite file with its log, which SQLite makes as open as the file itself was at that moment. */
export function closeDatabaseToOthers(file: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) closeToOthers(`${file}${suffix}`);
}
