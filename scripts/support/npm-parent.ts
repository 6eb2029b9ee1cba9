// npm hands SIGTERM to the shell it runs a script in, not to what that shell runs: many shells end and leave their
// child behind. So a stack that npm started looks whether its parent is still there.

/** A person who stopped npm waits no longer than this for the stack to notice. */
const LOOK_EVERY_MS = 500;
/** The scripts of package.json whose process is the stack itself; another script may put one in the background. */
const SCRIPTS: ReadonlySet<string | undefined> = new Set(["start", "dev"]);
/** Whoever has no parent left at the start (init adopts it) was let go on purpose. */
const INIT_PID = 1;

interface Looking {
  /** `npm_lifecycle_event`: the script that npm runs, undefined without npm. */
  readonly script: string | undefined;
  /** The process id of the parent at this moment. */
  readonly parentPid: () => number;
}

/** Calls `onGone` once when npm started this process and its parent has ended. Returns what ends the looking. */
export function watchNpmParent({ script, parentPid }: Looking, onGone: () => void): () => void {
  const startedBy = parentPid();
  if (!SCRIPTS.has(script) || startedBy === INIT_PID) return () => undefined;
  const timer = setInterval(() => {
    if (parentPid() === startedBy) return;
    clearInterval(timer);
    onGone();
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
