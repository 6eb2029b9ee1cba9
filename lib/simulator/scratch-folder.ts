import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** In memory where the system has such a place: what a simulation writes has to outlive its engine, not its machine. */
const IN_MEMORY = "/dev/shm";

export function scratchFolder(): string {
  return mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), "holdfast-simulation-"));
}
