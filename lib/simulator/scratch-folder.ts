import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** In memory where the system has such a place: what a simulation writes has to outlive its engine, not its machine. */
const IN_MEMORY = "/dev/shm";
const PREFIX = "holdfast-simulation-";

const root = existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir();

/** Named by its process, so that a later one can tell whether anybody still uses it. */
export function scratchFolder(): string {
  return mkdtempSync(join(root, `${PREFIX}${process.pid}-`));
}

/** Removes the folders of processes that were killed and could not do it themselves. */
export function removeLeftovers(folder = root): void {
  for (const name of readdirSync(folder)) {
    const pid = /^(\d+)-\w+$/.exec(name.startsWith(PREFIX) ? name.slice(PREFIX.length) : "")?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** Another user's process cannot be signalled, but it is there. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
