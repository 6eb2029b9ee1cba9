import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  DEFAULT_CATALOGUE_FILE,
  readCatalogue,
  type Catalogue,
} from "../../../lib/kinde/emulator/catalogue.ts";
import { readConfig } from "../../../lib/kinde/emulator/config.ts";
import { openKeys } from "../../../lib/kinde/emulator/keys.ts";
import { startEmulator } from "../../../lib/kinde/emulator/server.ts";
import { Storage } from "../../../lib/kinde/emulator/storage.ts";

export const SITE = "http://localhost:3000";
export const CONTROL_KEY = "control-key-of-the-tests";

export const EMULATOR_ENV: Record<string, string> = {
  KINDE_CLIENT_ID: "app_client",
  KINDE_CLIENT_SECRET: "a".repeat(40),
  KINDE_M2M_CLIENT_ID: "machine_client",
  KINDE_M2M_CLIENT_SECRET: "b".repeat(40),
  KINDE_EMULATOR_CONTROL_KEY: CONTROL_KEY,
  KINDE_SITE_URL: SITE,
};

/** An emulator in this process on a free port, with clocks that only the test moves. */
export interface TestEmulator {
  readonly url: string;
  /** Moves wall time and business time. */
  advance(ms: number): void;
  /** Moves business time only, as a test clock does. */
  moveTo(iso: string): void;
  readonly nowMs: () => number;
  /** Throws when it reported a fault of its own. */
  close(): Promise<void>;
}

const START_MS = Date.parse("2026-10-05T09:00:00Z");

const FOLDER = mkdtempSync(join(tmpdir(), "holdfast-kinde-"));
process.once("exit", () => rmSync(FOLDER, { recursive: true, force: true }));
let template: string | null = null;
let filesMade = 0;

/** Making a signing key takes longer than most tests, so each test starts from a copy of a file that has one. */
function newStateFile(): string {
  if (template === null) {
    template = join(FOLDER, "template.db");
    const storage = Storage.open(template);
    openKeys(storage, START_MS);
    storage.close();
  }
  const file = join(FOLDER, `${filesMade++}.db`);
  copyFileSync(template, file);
  return file;
}

export async function openEmulator(
  options: { env?: Record<string, string>; catalogue?: Catalogue; dataFile?: string } = {},
): Promise<TestEmulator> {
  const storage = Storage.open(options.dataFile ?? newStateFile());
  let nowMs = START_MS;
  let aheadMs = 0;
  const reports: unknown[] = [];
  const running = await startEmulator({
    config: readConfig({ ...EMULATOR_ENV, ...options.env }),
    catalogue: options.catalogue ?? readCatalogue(DEFAULT_CATALOGUE_FILE),
    storage,
    host: "127.0.0.1",
    port: 0,
    wallNowMs: () => nowMs,
    nowMs: () => nowMs + aheadMs,
    report: (error) => reports.push(error),
  });
  return {
    url: running.issuer,
    advance: (ms) => {
      nowMs += ms;
    },
    moveTo: (iso) => {
      aheadMs = Date.parse(iso) - nowMs;
    },
    nowMs: () => nowMs,
    async close() {
      await running.close();
      storage.close();
      if (reports.length > 0) throw new Error("the emulator failed", { cause: reports[0] });
    },
  };
}
