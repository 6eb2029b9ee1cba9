import { z } from "zod";

/**
 * One click as it goes to the ledger. There is no IP address in it, by design. The schema judges what comes back from a
 * spool file: its checksum says that it is whole, not that this version understands it.
 */
export const clickSchema = z.strictObject({
  /** 128 random bits in hex, made before anything else and the same in every retry: the ledger counts a key once. */
  key: z.string().regex(/^[0-9a-f]{32}$/),
  linkId: z.string(),
  accountId: z.string(),
  atMs: z.int().nonnegative(),
  /** What the visitor was answered. */
  served: z.enum(["target", "over_cap_target", "inactive_page", "over_cap_page"]),
  /** Its class as far as the request shows it; the ledger has the last word. */
  class: z.string(),
  rule: z.string(),
  referrer: z.string().nullable(),
  agent: z.string().nullable(),
});

export type Click = Readonly<z.infer<typeof clickSchema>>;

/** What the request of a click tells, its headers already cut. Rule source: the click classes of the ledger. */
export type RequestFacts = Pick<Click, "class" | "rule" | "referrer" | "agent">;

/** Clicks of one link, oldest first in the order they were recorded. */
export interface ClickBatch {
  readonly linkId: string;
  readonly accountId: string;
  readonly clicks: readonly Click[];
}

/**
 * What the ledger did with a batch. `written`: the first `count` (at least one) are rows now, or were already; where
 * fewer than all, the rest belongs to another meter and comes in the next batch. `refused`: none of them can ever be
 * written as they are.
 */
export type WriteOutcome =
  | { readonly kind: "written"; readonly count: number }
  | { readonly kind: "refused"; readonly reason: string };

/** Writes a batch in one mutation. Whatever it throws means "try again": the same keys make that safe. */
export type WriteClicks = (batch: ClickBatch) => Promise<WriteOutcome>;

/** Fixed part of a click in memory: objects, key, ids and numbers. */
const CLICK_BYTES = 400;

/** About what a queued click takes. Longer than its line in a spool file. */
export function clickBytes(click: Click): number {
  return CLICK_BYTES + (click.referrer?.length ?? 0) + (click.agent?.length ?? 0);
}
