/** Brings the provider's events to our server: once or more, soon or late, in any order, and some never. */
import { createHash } from "node:crypto";

import { parseBody, parseJson } from "../inbox/event.ts";
import type { EventClaims } from "../kinde/emulator/webhooks-events.ts";
import type { Chance } from "./chance.ts";
import type { Checks } from "./checks.ts";
import { isConflict, Lost } from "./deployment.ts";
import type { Faults } from "./faults.ts";
import { SERVER_SECRET, type Server } from "./server.ts";
import type { Trace } from "./trace.ts";

/** The waits between attempts, shortened from the provider's: what matters is that they are many and far apart. */
const RETRY_MS = [2_000, 10_000, 30_000, 60_000, 120_000] as const;
const SOON_MS_MAX = 300;
const LATER_MS_MAX = 20_000;
const MUCH_LATER_MS_MAX = 240_000;

export class Courier {
  /** Deliveries on their way. */
  underWay = 0;
  lost = 0;
  /** All that was ever sent, also what never arrived. */
  readonly told: EventClaims[] = [];

  constructor(
    private readonly server: Server,
    private readonly faults: Faults,
    private readonly chance: Chance,
    private readonly checks: Checks,
    private readonly trace: Trace,
    private readonly onFailure: (error: Error) => void,
  ) {}

  send(event: EventClaims): void {
    const { chance, faults } = this;
    this.told.push(event);
    const trouble = chance.strikes(faults.webhook)
      ? chance.weighted({ again: 4, later: 5, much_later: 2, never: 1 })
      : null;
    this.trace.note(`event ${event.type} ${event.event_id}${trouble === null ? "" : ` ${trouble}`}`);
    if (trouble === "never") {
      this.lost += 1;
      return;
    }
    const delayMs =
      trouble === "later" ? LATER_MS_MAX : trouble === "much_later" ? MUCH_LATER_MS_MAX : SOON_MS_MAX;
    const copies = trouble === "again" ? chance.between(2, 4) : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const afterMs = chance.share() * (copy === 0 ? delayMs : LATER_MS_MAX);
      this.start(event, afterMs);
    }
  }

  /** Once more, as a provider might that goes through its log. */
  repeat(event: EventClaims): void {
    this.trace.note(`event ${event.type} ${event.event_id} once more`);
    this.start(event, 0);
  }

  private start(event: EventClaims, afterMs: number): void {
    this.underWay += 1;
    this.deliver(event, afterMs)
      .catch((error: unknown) => this.onFailure(error as Error))
      .finally(() => {
        this.underWay -= 1;
      });
  }

  private async deliver(event: EventClaims, afterMs: number): Promise<void> {
    const payload = JSON.stringify(event);
    const delivery = {
      serverSecret: SERVER_SECRET,
      body: parseBody(parseJson(payload)),
      payload,
      payloadHash: createHash("sha256").update(payload).digest("hex"),
      webhookId: `webhook_${event.event_id}`,
      kid: "key-1",
    };
    await this.server.machine.sleep(afterMs);
    for (let tries = 0; ; tries += 1) {
      try {
        await this.server.once("mutation", "inbox:deliver", delivery);
        this.checks.promise("inboxEvents", "eventId", event.event_id);
        return;
      } catch (error) {
        if (!(error instanceof Lost) && !isConflict(error)) throw error;
        await this.server.machine.sleep(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]!);
      }
    }
  }
}
