// What the stopped stack has on its disk, read past the product's own functions.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Storage as EmulatorStorage } from "../../lib/kinde/emulator/storage.ts";
import { Catalog } from "../../lib/local-convex/catalog.ts";
import { Storage as EngineStorage } from "../../lib/local-convex/storage.ts";
import { EMULATOR_FILE, ENGINE_FILE, SPOOL_FOLDER } from "../support/backup-files.ts";

export type Row = Readonly<Record<string, unknown>> & { readonly _id: string };

/** The provider's own books. */
export interface ProviderRows {
  /** Totals by agreement and feature, of the newest cycle that has any. */
  readonly meters: readonly {
    readonly agreementId: string;
    readonly feature: string;
    readonly cycleStartMs: number;
    readonly totalUnits: number;
  }[];
  readonly events: readonly { readonly id: string; readonly type: string; readonly userId: string }[];
  /** Events that were told by hand; a change tells of itself, too. */
  readonly told: readonly { readonly customerId: string; readonly type: string }[];
  readonly deliveries: readonly { readonly eventId: string; readonly status: string }[];
  /** Attempts that were answered 200, by event. */
  readonly accepted: readonly { readonly eventId: string; readonly count: number }[];
  readonly agreements: readonly {
    readonly id: string;
    readonly customerId: string;
    readonly planKey: string;
    readonly endedAtMs: number | null;
  }[];
  readonly users: readonly { readonly id: string; readonly customerId: string }[];
}

/** Everything that the comparison looks at. */
export interface Remains {
  rows(table: string): readonly Row[];
  readonly provider: ProviderRows;
  /** Files of clicks that are not in the ledger, or could not be read. */
  readonly spoolFiles: readonly string[];
}

const PAGE_ROWS = 1_000;

/** Reads the files of a stack that does not run, or copies of them in `databases`. */
export function readRemains(dataDir: string, databases = dataDir): Remains {
  const tables = readTables(join(databases, ENGINE_FILE));
  const spoolFiles = readdirSync(join(dataDir, SPOOL_FOLDER)).filter((name) => !name.endsWith(".lock"));
  const provider = readProvider(join(databases, EMULATOR_FILE));
  return { rows: (table) => tables.get(table) ?? [], provider, spoolFiles };
}

function readTables(file: string): Map<string, Row[]> {
  const storage = EngineStorage.open(file);
  try {
    const catalog = new Catalog(storage);
    const tables = new Map<string, Row[]>();
    for (const number of catalog.tableNumbers) {
      const table = catalog.findByNumber(number);
      if (table === null || table.isSystem) continue;
      const rows: Row[] = [];
      for (let from: string | null = ""; from !== null;) {
        const page = storage.scanDocuments(number, from, null, "asc", PAGE_ROWS);
        for (const [, text] of page) rows.push(JSON.parse(text) as Row);
        const last = page.at(-1);
        from = page.length < PAGE_ROWS || last === undefined ? null : `${last[0]}\0`;
      }
      tables.set(table.name, rows);
    }
    return tables;
  } finally {
    storage.close();
  }
}

function readProvider(file: string): ProviderRows {
  const storage = EmulatorStorage.open(file);
  try {
    return {
      meters: storage.all(
        `SELECT agreement_id AS agreementId, feature_key AS feature, cycle_start_ms AS cycleStartMs,
           total_after AS totalUnits FROM meter_records m WHERE total_after IS NOT NULL AND seq = (
             SELECT max(seq) FROM meter_records n WHERE n.agreement_id = m.agreement_id
               AND n.feature_key = m.feature_key AND n.cycle_start_ms = m.cycle_start_ms AND n.total_after IS NOT NULL)`,
      ),
      events: storage.all("SELECT id, type, user_id AS userId FROM webhook_events ORDER BY seq"),
      told: storage.all(
        `SELECT json_extract(body, '$.customerId') AS customerId, json_extract(body, '$.type') AS type
           FROM changes WHERE kind = 'event_told'`,
      ),
      deliveries: storage.all("SELECT event_id AS eventId, status FROM webhook_deliveries ORDER BY seq"),
      accepted: storage.all(
        `SELECT d.event_id AS eventId, count(*) AS count FROM webhook_attempts a
           JOIN webhook_deliveries d ON d.id = a.delivery_id WHERE a.status = 200 GROUP BY d.event_id`,
      ),
      agreements: storage.all(
        `SELECT id, customer_id AS customerId, plan_key AS planKey, ended_at_ms AS endedAtMs
           FROM agreements ORDER BY seq`,
      ),
      users: storage.all("SELECT id, customer_id AS customerId FROM users"),
    };
  } finally {
    storage.close();
  }
}
