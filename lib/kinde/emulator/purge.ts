/** Takes away what nobody can ask for any more, so that the state file of a long-lived installation stays small. */
import { HOUR_MS } from "../../shared/durations.ts";
import type { Emulator } from "./context.ts";
import { timedId } from "./ids.ts";
import { purgeFinished } from "./webhooks-deliveries.ts";

/** Newest changes that are listed. */
const CHANGES_KEPT = 10_000;
/** Newest records of a meter in a cycle. Older ones go once an absolute one has set the total after them. */
const RECORDS_KEPT = 1_000;

export function purgeOld(emulator: Pick<Emulator, "storage" | "config" | "wallNowMs">): void {
  const { storage, config, wallNowMs } = emulator;
  purgeFinished(emulator);
  storage.run("DELETE FROM changes WHERE seq <= (SELECT max(seq) FROM changes) - ?", CHANGES_KEPT);
  storage.run("DELETE FROM refresh_tokens WHERE expires_at_ms <= ?", wallNowMs());
  // A session is what its refresh tokens renew.
  storage.run("DELETE FROM sessions WHERE id NOT IN (SELECT session_id FROM refresh_tokens)");
  // The id of a token begins with when it was made, and one that has expired need not be revoked.
  const expiredMs = wallNowMs() - config.tokenLifeSeconds * 1000 - HOUR_MS;
  const [, expired = ""] = /^jti_(.{12})/.exec(timedId("jti", expiredMs)) ?? [];
  storage.run("DELETE FROM revoked_tokens WHERE jti < ?", expired);
  storage.run(
    `DELETE FROM meter_records WHERE seq IN (
       SELECT seq FROM (
         SELECT seq, row_number() OVER (meter ORDER BY seq DESC) AS place,
           max(CASE WHEN type = 'absolute' AND total_after IS NOT NULL THEN seq END) OVER meter AS set_at
         FROM meter_records WINDOW meter AS (PARTITION BY agreement_id, feature_key, cycle_start_ms))
       WHERE place > ? AND seq < set_at)`,
    RECORDS_KEPT,
  );
}
