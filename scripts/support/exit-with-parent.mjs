// Loaded into a child before its own code (`node --import`): ends it when its stdin closes, that is when the
// supervisor that started it is gone, even by SIGKILL. Without this the child would live on and keep its port.

/** Helpers of the child inherit the import, and their stdin says nothing about the supervisor: the first one watches. */
const WATCHER = "HOLDFAST_WATCHES_PARENT";
const KILL_AFTER_MS = 5000;

if (process.env[WATCHER] === undefined) {
  process.env[WATCHER] = String(process.pid);
  process.stdin.on("end", () => endGroup());
  process.stdin.on("error", () => endGroup());
  process.stdin.resume();
  process.stdin.unref?.();
}

function endGroup() {
  setTimeout(() => process.exit(1), KILL_AFTER_MS).unref();
  // 0 is the own process group: the supervisor gives each child one, helpers are in it.
  process.kill(0, "SIGTERM");
}
