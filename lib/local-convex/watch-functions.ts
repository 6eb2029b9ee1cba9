/** Reloads the functions when a file of their folder (or of the `lib/` beside it, which they import) changes. */
import { existsSync, watch } from "node:fs";
import { join } from "node:path";
import type { Engine } from "./engine.ts";

/** Editors write several times; one reload is enough. */
const SETTLE_MS = 150;

export function watchFunctions(
  engine: Engine,
  functionsDir: string,
  say: (text: string) => void,
): () => void {
  let timer: NodeJS.Timeout | null = null;
  let reloading = Promise.resolve();
  const reload = async (): Promise<void> => {
    try {
      await engine.reload();
      say("local-convex: functions reloaded");
    } catch (error) {
      engine.report("reload", error);
    }
  };
  const onChange = (_event: string, file: string | null): void => {
    if (file !== null && !/\.(ts|tsx|js|mjs)$/.test(file)) return;
    if (timer !== null) clearTimeout(timer);
    // One after another: two reloads at once could end with the older code.
    timer = setTimeout(() => {
      reloading = reloading.then(reload);
    }, SETTLE_MS);
  };
  const watchers = [functionsDir, join(functionsDir, "..", "lib")]
    .filter((dir) => existsSync(dir))
    .map((dir) => watch(dir, { recursive: true }, onChange));
  return () => {
    if (timer !== null) clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}
