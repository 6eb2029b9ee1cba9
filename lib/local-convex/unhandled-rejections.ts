/**
 * A rejection that nobody handles inside a function fails that function, as in real Convex, and never ends the
 * process. Known before the commit when it came from a syscall; one that is found later is only reported.
 */
import { currentInvocation } from "./invocation.ts";

/** Installs the process-wide listener; `report` gets what came too late to fail its function. */
export function failFunctionsOnRejection(
  report: (source: string, error: unknown) => void,
  onForeign: (reason: unknown) => void,
): void {
  process.on("unhandledRejection", (reason) => {
    const invocation = currentInvocation.getStore();
    if (invocation === undefined) onForeign(reason);
    else if (invocation.over) report(`unhandled rejection in ${invocation.path}`, reason);
    else invocation.unhandled ??= { reason };
  });
}
