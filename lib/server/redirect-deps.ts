import { randomFillSync } from "node:crypto";
import { classifyRequest } from "../ledger/classify.ts";
import { isCode } from "../ledger/code.ts";
import { isTargetStill, type ShortLinks, shortLinksFrom } from "../ledger/short-links.ts";
import { convexApi } from "./convex-functions.ts";
import { logLine, processDeps } from "./process-deps.ts";
import { processClock } from "./process-clock.ts";
import { processValue } from "./process-value.ts";
import { createRedirects, type Redirects, type RedirectsOptions } from "./redirect/redirects.ts";
import { clickKeys } from "./redirect/click-keys.ts";
import { after } from "./redirect/timers.ts";

const kept = processValue<Redirects>("redirects");

/**
 * The redirects of this process, made at the first call; what ended processes left in the spool is written then.
 * `HOLDFAST_SPOOL_DIR` names the folder of the spool; without it clicks are written directly, under `waitUntil` where
 * the host has one. The deployment is looked up with each call, so that a process that is not configured yet answers.
 */
export function processRedirects(
  options: Pick<RedirectsOptions, "waitUntil"> = {},
  env: NodeJS.ProcessEnv = process.env,
): Redirects {
  return kept.get() ?? kept.set(createRedirects({ ...options, ...redirectSettings(env) }));
}

/** The redirects if they were made: for the end of the process, and for whoever only counts. */
export function openRedirects(): Redirects | undefined {
  return kept.get();
}

function redirectSettings(env: NodeJS.ProcessEnv): RedirectsOptions {
  const { links, clicks } = convexApi;
  const { HOLDFAST_SPOOL_DIR: folder = "", HOLDFAST_SPOOL_FSYNC } = env;
  const clock = processClock(env);
  let shortLinks: ShortLinks | undefined;
  return {
    readLink: (code) => processDeps(env).convex.query(links.resolve, { code }),
    writeClicks: ({ linkId, accountId, clicks: sent }) =>
      processDeps(env).convex.mutation(clicks.record, { linkId, accountId, clicks: [...sent] }),
    classify: classifyRequest,
    isCode,
    isAllowedTarget(location) {
      shortLinks ??= shortLinksFrom(env["HOLDFAST_SHORT_URL"], env["KINDE_SITE_URL"]);
      return isTargetStill(location, shortLinks);
    },
    spool: folder === "" ? null : { folder, fsync: HOLDFAST_SPOOL_FSYNC === "1" },
    nowMs: () => clock.nowMs(),
    elapsedMs: () => performance.now(),
    after,
    random: Math.random,
    newKey: clickKeys(randomFillSync),
    log: logLine,
  };
}
