import { inboxFaults } from "../inbox/environment.ts";
import { webFaults } from "../kinde/environment.ts";

/**
 * A setting that the sign-in library would trip over later, as a redirect loop or a page that shows the secret, ends
 * the start with one line instead. So does one of the inbox, which nobody would miss before the day it is needed.
 */
export function endOnFaultySettings(host: Pick<NodeJS.Process, "env" | "stderr" | "exit">): void {
  const faults = [...webFaults(host.env), ...inboxFaults(host.env)];
  if (faults.length === 0) return;
  host.stderr.write(`holdfast: ${faults.map(({ message }) => message).join("; ")}\n`);
  host.exit(1);
}
