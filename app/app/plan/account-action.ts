import type { NextjsOptions } from "convex/nextjs";
import type { Session } from "../../session.ts";

/** A customer on the way to another page waits no longer than this; what was begun goes on. */
const WAIT_MAX_MS = 4_000;

/** Runs something for the account on the way to the plan page or back. A failure keeps nobody from going on. */
export async function tryForAccount(
  { accessToken }: Pick<Session, "accessToken">,
  act: (options: NextjsOptions) => Promise<unknown>,
  failedEvent: string,
): Promise<void> {
  const options = { url: process.env.CONVEX_URL ?? "", token: accessToken };
  const tried = act(options).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${JSON.stringify({ event: failedEvent, message })}\n`);
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, WAIT_MAX_MS);
  });
  await Promise.race([tried, late]);
  clearTimeout(timer);
}
