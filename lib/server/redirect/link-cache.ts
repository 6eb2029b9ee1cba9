import { MINUTE_MS, SECOND_MS } from "../../shared/durations.ts";
import type { LogEvent } from "../deps.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { ReadLink, ResolvedLink } from "./link.ts";
import { createReadQueue } from "./read-queue.ts";
import { within, type After } from "./timers.ts";

/** How old an answer may be while Convex answers: an edit, a disabled link and a used-up cap show this much later. */
export const FRESH_MS = 5 * SECOND_MS;
/** How old a link may be while Convex does not answer. Unknown codes are never served past `FRESH_MS`. */
export const STALE_MS = 10 * MINUTE_MS;
/** A link that is known but no longer fresh waits this long for a new read, then the old one serves. */
const STALE_WAIT_MS = 500;
/** After a failed read, links that are known are not read again for this long. */
const RETRY_READ_MS = SECOND_MS;

const LINKS_MAX = 10_000;
/** Targets may be long, so that entries alone bound nothing. */
const LINK_BYTES_MAX = 16 * 1024 * 1024;
/** Codes nobody has, kept apart: a scan of them pushes out no link. */
const UNKNOWN_MAX = 1_000;
const UNKNOWN_BYTES_MAX = 256 * 1024;
/** Fixed part of an entry, about what V8 takes for the objects around the strings. */
const ENTRY_BYTES = 300;

/** Convex does not answer and no link is kept that may serve instead. */
export class LinksUnavailableError extends Error {
  override readonly name = "LinksUnavailableError";
  readonly code = "links_unavailable";
}

export interface LinkCacheOptions {
  readonly read: ReadLink;
  readonly nowMs: () => number;
  /** Milliseconds of a clock that does not go back and runs at its own pace: for waits, not for ages. */
  readonly elapsedMs: () => number;
  readonly after: After;
  readonly log: (event: LogEvent) => void;
  readonly linksMax?: number;
  readonly unknownMax?: number;
}

export interface LinkCache {
  /** Null: nobody ever had this code. Throws `LinksUnavailableError`. */
  resolve(code: string): Promise<ResolvedLink | null>;
  /** Whether a link is kept under this code, so that it is served without a read when it is fresh. */
  has(code: string): boolean;
  /** Drops what is known of a code, for a process that changes the link itself. */
  forget(code: string): void;
  stats(): {
    readonly links: number;
    readonly unknown: number;
    readonly bytes: number;
    readonly reads: number;
  };
}

interface Known {
  readonly link: ResolvedLink;
  readonly readAtMs: number;
}

/**
 * Links by code. Fresh for `FRESH_MS`, counted from when the read was sent; then the next caller reads again, one read
 * per code however many wait for it. When that read fails or is slow, a link not older than `STALE_MS` serves.
 */
export function createLinkCache(options: LinkCacheOptions): LinkCache {
  const { nowMs, after, log } = options;
  const links = new BoundedMap<Known>({
    entriesMax: options.linksMax ?? LINKS_MAX,
    bytesMax: LINK_BYTES_MAX,
  });
  const unknown = new BoundedMap<number>({
    entriesMax: options.unknownMax ?? UNKNOWN_MAX,
    bytesMax: UNKNOWN_BYTES_MAX,
  });
  const queue = createReadQueue(options.elapsedMs);
  const reads = new Map<string, Promise<ResolvedLink | null>>();
  let readsDone = 0;
  let failedAtMs = -Infinity;

  /** A clock that was set back makes an age negative, which proves nothing: such an answer is read again. */
  const isYounger = (readAtMs: number, limitMs: number): boolean => {
    const ageMs = nowMs() - readAtMs;
    return ageMs >= 0 && ageMs < limitMs;
  };

  async function resolve(code: string): Promise<ResolvedLink | null> {
    const known = links.get(code);
    if (known && isYounger(known.readAtMs, FRESH_MS)) return known.link;
    const unknownAtMs = unknown.get(code);
    if (unknownAtMs !== undefined && isYounger(unknownAtMs, FRESH_MS)) return null;
    if (!known || !isYounger(known.readAtMs, STALE_MS)) return await readOnce(code);
    if (isYounger(failedAtMs, RETRY_READ_MS)) return known.link;
    try {
      const answer = await within(readOnce(code), STALE_WAIT_MS, after);
      return answer === "late" ? known.link : answer;
    } catch (error) {
      if (error instanceof LinksUnavailableError) return known.link;
      throw error;
    }
  }

  function readOnce(code: string): Promise<ResolvedLink | null> {
    const running = reads.get(code);
    if (running) return running;
    const isCurrent = (): boolean => reads.get(code) === reading;
    const reading: Promise<ResolvedLink | null> = read(code, isCurrent).finally(() => {
      if (isCurrent()) reads.delete(code);
    });
    reads.set(code, reading);
    return reading;
  }

  async function read(code: string, isCurrent: () => boolean): Promise<ResolvedLink | null> {
    let sentAtMs = 0;
    try {
      const link = await queue.run(() => {
        sentAtMs = nowMs();
        readsDone += 1;
        return options.read(code);
      });
      // What was forgotten while it was read may be older than the change it was forgotten for.
      if (isCurrent()) keep(code, link, sentAtMs);
      return link;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!isYounger(failedAtMs, RETRY_READ_MS)) log({ event: "links_unreachable", message });
      failedAtMs = nowMs();
      throw new LinksUnavailableError(`the link cannot be read: ${message}`, { cause: error });
    }
  }

  function keep(code: string, link: ResolvedLink | null, readAtMs: number): void {
    if (link === null) {
      links.delete(code);
      unknown.set(code, readAtMs, ENTRY_BYTES / 2 + code.length);
      return;
    }
    unknown.delete(code);
    const bytes = ENTRY_BYTES + code.length + link.location.length + (link.overCapLocation?.length ?? 0);
    links.set(code, { link, readAtMs }, bytes);
  }

  return {
    resolve,
    has: (code) => links.get(code) !== undefined,
    forget(code) {
      links.delete(code);
      unknown.delete(code);
      reads.delete(code);
    },
    stats: () => ({
      links: links.size,
      unknown: unknown.size,
      bytes: links.bytes + unknown.bytes,
      reads: readsDone,
    }),
  };
}
