import type { LogEvent } from "../deps.ts";
import type { WriteClicks } from "./click.ts";
import { createClickWriter, type ClickMetrics } from "./click-writer.ts";
import { createRedirectHandler, type RedirectDeps, type RedirectRequest } from "./handler.ts";
import { createLinkCache, type LinkCache } from "./link-cache.ts";
import type { ReadLink } from "./link.ts";
import type { PlainResponse } from "../http.ts";
import { Spool, type SpoolState } from "./spool.ts";
import type { After } from "./timers.ts";

export interface SpoolPlace {
  /** A folder on a disk of this machine, shared by its processes and by nobody else. */
  readonly folder: string;
  /** Answers wait for the disk, so that a loss of power loses no answered click either. */
  readonly fsync: boolean;
}

export interface RedirectsOptions {
  readonly readLink: ReadLink;
  readonly writeClicks: WriteClicks;
  readonly classify: RedirectDeps["classify"];
  readonly isCode: RedirectDeps["isCode"];
  readonly isAllowedTarget: RedirectDeps["isAllowedTarget"];
  /** Null where there is no disk. */
  readonly spool: SpoolPlace | null;
  readonly waitUntil?: (work: Promise<void>) => void;
  readonly nowMs: () => number;
  readonly elapsedMs: () => number;
  readonly after: After;
  readonly random: () => number;
  /** 128 random bits in hex, for clicks and for the name of the spool. */
  readonly newKey: () => string;
  readonly log: (event: LogEvent) => void;
}

/** Everything behind `/{code}` in one process. */
export interface Redirects {
  readonly handle: (request: RedirectRequest) => Promise<PlainResponse>;
  readonly links: Pick<LinkCache, "forget" | "has" | "stats">;
  metrics(): ClickMetrics;
  /** Whether clicks can be appended, as far as the last one showed; null where no disk was named. */
  spoolState(): SpoolState | null;
  /** When no request is under way any more: see `ClickWriter.close`. */
  close(waitMs?: number): Promise<void>;
}

/** Puts the redirect path of a process together. Clicks of ended processes begin to be written at once. */
export function createRedirects(options: RedirectsOptions): Redirects {
  const { nowMs, elapsedMs, after, random, log, newKey } = options;
  const links = createLinkCache({ read: options.readLink, nowMs, elapsedMs, after, log });
  const spool = openSpool(options);
  const maySpeculate = options.spool === null;
  const writer = createClickWriter({
    write: options.writeClicks,
    spool,
    maySpeculate,
    ...(options.waitUntil && { waitUntil: options.waitUntil }),
    after,
    random,
    log,
  });
  const handle = createRedirectHandler({
    resolve: (code) => links.resolve(code),
    isCode: options.isCode,
    isAllowedTarget: options.isAllowedTarget,
    classify: options.classify,
    record: (click) => writer.record(click),
    newKey,
    nowMs,
    log,
  });
  return {
    handle,
    links,
    metrics: () => writer.metrics(),
    spoolState: () => (maySpeculate ? null : (spool?.state() ?? { status: "down", code: "unusable" })),
    close: (waitMs) => writer.close(waitMs),
  };
}

/** A folder that cannot be used leaves the redirects working, each answered once its click is in the ledger. */
function openSpool({ spool, newKey, nowMs, log }: RedirectsOptions): Spool | null {
  if (spool === null) return null;
  try {
    return Spool.open({ ...spool, spoolId: newKey(), nowMs, log });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    log({ event: "spool_unusable", folder: spool.folder, message });
    return null;
  }
}
