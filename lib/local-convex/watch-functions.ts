/** Reloads the functions when a file of their folder (or of `lib/`, which they import) changes. */
import { watch } from "node:fs";
import type { Engine } from "./engine.ts";

/** Editors write several times; one reload is enough. */
const SETTLE_MS = 150;

export function watchFunctions(
  engine: Engine,
  functionsDir: string,
  say: (text: string) => void,
): () => void {
  let timer: NodeJS.Timeout | null = null;
  const reload = async (): Promise<void> => {
    try {
      await engine.load();
      say("local-convex: functions reloaded");
    } catch (error) {
      engine.report("reload", error);
    }
  };
  const onChange = (_event: string, file: string | null): void => {
    if (file !== null && !/\.(ts|tsx|js|mjs)$/.test(file)) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => void reload(), SETTLE_MS);
  };
  const watchers = [functionsDir, "lib"].map((dir) => watch(dir, { recursive: true }, onChange));
  return () => {
    for (const watcher of watchers) watcher.close();
  };
}
