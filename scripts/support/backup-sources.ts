// Where the databases of a backup come from: the processes that have them open, or the files when nothing runs.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { StateFileError, Storage as EmulatorStorage } from "../../lib/kinde/emulator/storage.ts";
import { StorageError } from "../../lib/local-convex/errors.ts";
import { Storage as EngineStorage } from "../../lib/local-convex/storage.ts";
import { type Lock, type LockOwner, takeLock } from "../../lib/shared/file-lock.ts";
import { EMULATOR_FILE, ENGINE_FILE } from "./backup-files.ts";
import { CliError } from "./cli.mjs";
import { openSecrets } from "./secrets.ts";
import { backupKeyOf } from "./stack.ts";

/** Copying a large database takes its time. */
const COPY_TIMEOUT_MS = 30 * 60_000;

export interface Sources {
  readonly isRunning: boolean;
  /** Writes a copy into a new file; false when this data directory has none. */
  copyEngine(file: string): Promise<boolean>;
  copyEmulator(file: string): Promise<boolean>;
  close(): void;
}

/** Throws CliError when the stack is just starting or ending, or somebody else holds the files. */
export function openSources(dataDir: string): Sources {
  const outcome = takeLock(join(dataDir, "supervisor.lock"));
  if (outcome.kind === "contended") throw new CliError(`the lock of ${dataDir} cannot be taken; try again`);
  return outcome.kind === "held" ? running(dataDir, outcome.owner) : stopped(dataDir, outcome.lock);
}

function running(dataDir: string, { note }: LockOwner): Sources {
  const secrets = openSecrets(dataDir);
  const ask = async (
    what: string,
    url: unknown,
    path: string,
    key: string,
    file: string,
  ): Promise<boolean> => {
    if (typeof url !== "string" || url === "") return false;
    await post(what, `${url}${path}`, key, file);
    return true;
  };
  return {
    isRunning: true,
    copyEngine: (file) => ask("local-convex", note["engineUrl"], "/api/backup", backupKeyOf(secrets), file),
    copyEmulator: (file) =>
      ask("the Kinde emulator", note["emulatorUrl"], "/control/backup", secrets.kindeControlKey, file),
    close: () => undefined,
  };
}

function stopped(dataDir: string, lock: Lock): Sources {
  return {
    isRunning: false,
    async copyEngine(file) {
      const source = join(dataDir, ENGINE_FILE);
      if (!existsSync(source)) return false;
      return await explained(async () => {
        const storage = EngineStorage.open(source);
        try {
          await storage.copyTo(file, () => undefined);
        } finally {
          storage.close();
        }
      });
    },
    async copyEmulator(file) {
      const source = join(dataDir, EMULATOR_FILE);
      if (!existsSync(source)) return false;
      return await explained(() => {
        const storage = EmulatorStorage.open(source);
        try {
          storage.copyTo(file);
        } finally {
          storage.close();
        }
      });
    },
    close: () => lock.release(),
  };
}

/** A file that cannot be read or written is for the person at the terminal to mend. */
async function explained(work: () => void | Promise<void>): Promise<true> {
  try {
    await work();
    return true;
  } catch (cause) {
    if (!(cause instanceof StorageError || cause instanceof StateFileError)) throw cause;
    throw new CliError(cause.message, { cause });
  }
}

async function post(what: string, url: string, key: string, file: string): Promise<void> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ file }),
      signal: AbortSignal.timeout(COPY_TIMEOUT_MS),
    });
    text = await response.text();
  } catch (cause) {
    throw new CliError(`${what} gave no answer; if the stack is just starting, try again`, { cause });
  }
  if (!response.ok) throw new CliError(`${what} made no copy (${response.status}): ${text.slice(0, 300)}`);
}
