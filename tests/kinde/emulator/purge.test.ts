import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readConfig } from "../../../lib/kinde/emulator/config.ts";
import { timedId } from "../../../lib/kinde/emulator/ids.ts";
import { purgeOld } from "../../../lib/kinde/emulator/purge.ts";
import { Storage } from "../../../lib/kinde/emulator/storage.ts";
import { HOUR_MS } from "../../../lib/shared/durations.ts";
import { EMULATOR_ENV } from "./emulator-server.ts";

const NOW_MS = Date.UTC(2026, 9, 5, 9);
const config = readConfig(EMULATOR_ENV);
const TOKEN_LIFE_MS = config.tokenLifeSeconds * 1000;

let folder: string;
let storage: Storage;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-purge-"));
  storage = Storage.open(join(folder, "state.db"));
});
afterEach(() => {
  storage.close();
  rmSync(folder, { recursive: true, force: true });
});

const purge = () => purgeOld({ storage, config, wallNowMs: () => NOW_MS });
const list = (sql: string) => storage.all<{ name: string }>(sql).map(({ name }) => name);

function addRecord(
  value: number,
  type = "absolute",
  cycleStartMs = 0,
  totalAfter: number | null = value,
): void {
  storage.run(
    `INSERT INTO meter_records (id, agreement_id, feature_key, value, type, used_at_ms, made_at_ms, cycle_start_ms,
       total_after) VALUES (?, 'a', 'tokens', ?, ?, 0, 0, ?, ?)`,
    `${cycleStartMs}-${value}-${type}`,
    String(value),
    type,
    cycleStartMs,
    totalAfter,
  );
}
const values = (cycleStartMs: number) =>
  list(`SELECT value AS name FROM meter_records WHERE cycle_start_ms = ${cycleStartMs} ORDER BY seq`);

test("of the records of a meter the newest thousand of each cycle stay", () => {
  storage.transaction(() => {
    for (let value = 1; value <= 1_002; value += 1) addRecord(value);
    for (let value = 1; value <= 1_000; value += 1) addRecord(value, "absolute", 1);
  });
  purge();
  expect(values(0)).toHaveLength(1_000);
  expect(values(0)[0]).toBe("3");
  expect(values(1)).toHaveLength(1_000);
});

test("a record that its total is still made from stays, however many came after it", () => {
  storage.transaction(() => {
    addRecord(1);
    addRecord(2);
    for (let value = 1; value <= 1_001; value += 1) addRecord(value, "delta", 0, 2 + value);
    // Dated back into a closed cycle: it sets no total.
    addRecord(9_999, "absolute", 0, null);
  });
  purge();
  expect(values(0)).toHaveLength(1_003);
  expect(values(0)[0]).toBe("2");
});

test("changes: the newest ten thousand stay", () => {
  storage.transaction(() => {
    for (let number = 1; number <= 10_003; number += 1) {
      storage.run("INSERT INTO changes (at_ms, kind, body) VALUES (0, ?, '{}')", `change ${number}`);
    }
  });
  purge();
  expect(list("SELECT kind AS name FROM changes ORDER BY seq LIMIT 1")).toEqual(["change 4"]);
  expect(list("SELECT kind AS name FROM changes")).toHaveLength(10_000);
});

test("a session goes with its last refresh token, and a revoked token when it has expired", () => {
  for (const id of ["alive", "ended"])
    storage.run("INSERT INTO sessions (id, grant_json) VALUES (?, '{}')", id);
  const addToken = (hash: string, session: string, expiresAtMs: number) =>
    storage.run(
      "INSERT INTO refresh_tokens (hash, session_id, expires_at_ms) VALUES (?, ?, ?)",
      hash,
      session,
      expiresAtMs,
    );
  addToken("1", "alive", NOW_MS);
  addToken("2", "alive", NOW_MS + 1);
  addToken("3", "ended", NOW_MS);
  const jtiOf = (madeAtMs: number) => timedId("jti", madeAtMs).slice("jti_".length);
  const [expired, alive] = [jtiOf(NOW_MS - TOKEN_LIFE_MS - HOUR_MS - 1), jtiOf(NOW_MS - TOKEN_LIFE_MS)];
  for (const jti of [expired, alive]) storage.run("INSERT INTO revoked_tokens (jti) VALUES (?)", jti);
  purge();
  expect(list("SELECT id AS name FROM sessions")).toEqual(["alive"]);
  expect(list("SELECT hash AS name FROM refresh_tokens")).toEqual(["2"]);
  expect(list("SELECT jti AS name FROM revoked_tokens")).toEqual([alive]);
});
