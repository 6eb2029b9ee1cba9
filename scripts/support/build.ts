import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { takeLock, type Lock } from "../../lib/shared/file-lock.ts";
import { hashSources, isBuilt, stampBuild } from "./build-stamp.ts";
import { describeExit, type Children } from "./children.ts";
import { CliError } from "./cli.mjs";
import { BUILD_ENV } from "./kinde.ts";

const ASK_EVERY_MS = 500;
/** Longer than the slowest build seen by far (2 cores, cold: under 2 min). */
const WAIT_FOR_OTHER_MS = 15 * 60_000;

/**
 * Makes .next the build of the sources at `root`, when it is not yet (always with `force`).
 * Two that start at once build once: the second waits. Throws CliError when the build fails.
 */
export async function ensureBuilt(
  root: string,
  children: Children,
  { force = false }: { force?: boolean } = {},
): Promise<void> {
  if (!force && isBuilt(root, hashSources(root))) return;
  const lock = await takeBuildLock(root, children);
  if (!lock) return;
  try {
    const hash = hashSources(root);
    if (!force && isBuilt(root, hash)) return;
    console.log(
      "building the app (next build); this takes a minute and is needed once per change of the sources",
    );
    const exit = await children.start({
      name: "build",
      args: [
        "--import",
        "./scripts/support/exit-with-parent.mjs",
        "node_modules/next/dist/bin/next",
        "build",
      ],
      env: { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1", ...BUILD_ENV },
    });
    if (children.stopping) return;
    if (exit.code !== 0)
      throw new CliError(`the build failed (${describeExit(exit)}); its lines above say why`);
    stampBuild(root, hash);
  } finally {
    lock.release();
  }
}

/** The lock lies outside .next, which a build empties. Null when everything is being stopped meanwhile. */
async function takeBuildLock(root: string, children: Children): Promise<Lock | null> {
  const folder = join(root, ".holdfast");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (let waitedMs = 0; waitedMs < WAIT_FOR_OTHER_MS; waitedMs += ASK_EVERY_MS) {
    const outcome = takeLock(join(folder, "build.lock"));
    if (outcome.kind === "taken") return outcome.lock;
    if (waitedMs === 0 && outcome.kind === "held") {
      console.log(`waiting for the build of process ${outcome.owner.pid}`);
    }
    await sleep(ASK_EVERY_MS);
    if (children.stopping) return null;
  }
  throw new CliError("another build did not end within 15 minutes");
}
