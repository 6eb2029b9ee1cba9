/** Long after a run: what is kept for a time only goes, the books stay, and what comes again counts nothing twice. */
import { QUARANTINE_AFTER_MS } from "../inbox/event.ts";
import { RETENTION } from "../retention/rules.ts";
import { SECOND_MS } from "../shared/durations.ts";
import type { World } from "./world.ts";
import { check } from "./violation.ts";

const BOOKS = ["jobs", "entries", "planChanges", "payments", "agreements", "reviews", "links", "reminders"];
const LOOKED_BACK_AT = ["refusals", "receipts", "inboxEvents", "inboxPayloads"];
/** Copies that come at once at most. */
const COPIES_MAX = 20;

export async function growOld(world: World): Promise<void> {
  const { checks, clock, courier, server } = world;
  const rows = (table: string) => [...checks.mirror.rows(table).values()];
  const books = (): string => JSON.stringify(BOOKS.map((table) => [table, rows(table)]));
  const before = books();
  clock.step(RETENTION.inboxEvents.keptMs + QUARANTINE_AFTER_MS);
  await server.machine.sleep(30 * SECOND_MS);
  for (const table of LOOKED_BACK_AT) {
    check(rows(table).length === 0, "in the end nothing is kept for too long", () =>
      JSON.stringify(rows(table)[0]),
    );
  }
  check(books() === before, "in the end the books are kept", () => `${before}\n${books()}`);

  for (const event of courier.told.slice(-COPIES_MAX)) courier.repeat(event);
  await server.machine.sleep(30 * SECOND_MS);
  for (const event of rows("inboxEvents")) {
    check(
      event["status"] === "quarantined",
      "an event that was forgotten is never applied again by itself",
      () => JSON.stringify(event),
    );
  }
  check(books() === before, "in the end nothing counts twice", () => `${before}\n${books()}`);
}
