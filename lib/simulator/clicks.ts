import type { Chance } from "./chance.ts";
import { Lost, isConflict } from "./deployment.ts";
import { SERVER_SECRET } from "./server.ts";
import type { World } from "./world.ts";

export interface Link {
  readonly linkId: string;
  readonly accountId: string;
  readonly sinceMs: number;
}

const BATCH_MAX = 12;
/** A click waits in the spool of its web process, now and then for long. */
const LATE_MS_MAX = 90_000;
const RETRY_MS_MAX = 3_000;

const CLASSES = { billable: 10, bot: 1, head: 1, prefetch: 1 } as const;

/** A batch on its way to the ledger: its keys stay the same until an answer says that it is there. */
export async function recordClicks(world: World, link: Link, step: number, chance: Chance): Promise<void> {
  const lateMs = chance.strikes(0.15) ? chance.below(LATE_MS_MAX) : chance.below(200);
  // Nobody clicks a link before there is one.
  const atMs = Math.max(link.sinceMs, Math.floor(world.clock.nowMs()) - lateMs);
  const clicks = Array.from({ length: chance.between(1, BATCH_MAX) }, (_, index) => ({
    key: `${step.toString(16).padStart(16, "0")}${index.toString(16).padStart(16, "0")}`,
    linkId: link.linkId,
    accountId: link.accountId,
    atMs: atMs + index,
    served: "target",
    class: chance.weighted(CLASSES),
    rule: "simulated",
    referrer: null,
    agent: "simulated",
  }));
  const senders = chance.strikes(0.2) ? 2 : 1;
  await Promise.all(Array.from({ length: senders }, () => send(world, link, clicks, chance)));
}

async function send(
  world: World,
  { linkId, accountId }: Link,
  clicks: readonly { readonly key: string }[],
  chance: Chance,
): Promise<void> {
  let left = clicks;
  while (left.length > 0) {
    try {
      const args = { serverSecret: SERVER_SECRET, linkId, accountId, clicks: left };
      const answer = await world.server.once<Written>("mutation", "clicks:record", args);
      if (answer.kind === "refused") throw new Error(`clicks were refused: ${answer.reason}`);
      for (const { key } of left.slice(0, answer.count)) world.checks.promise("entries", "key", key);
      left = left.slice(answer.count);
    } catch (error) {
      if (!(error instanceof Lost) && !isConflict(error)) throw error;
      await world.server.machine.sleep(chance.share() * RETRY_MS_MAX);
    }
  }
  world.trace.note(`${clicks.length} clicks are written`);
}

type Written = { kind: "written"; count: number } | { kind: "refused"; reason: string };
