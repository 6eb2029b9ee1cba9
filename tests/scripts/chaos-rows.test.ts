import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Storage } from "../../lib/kinde/emulator/storage.ts";
import { readRemains } from "../../scripts/chaos/rows.ts";
import { openEngine, withTempFolder } from "../../scripts/support/temp-engine.ts";

test("reads every row that the engine wrote, past the engine", { timeout: 60_000 }, async () => {
  await withTempFolder(async (folder) => {
    const engine = await openEngine(join(folder, "convex.sqlite"));
    const made: string[] = [];
    // More than one page of rows.
    for (let number = 0; number < 1_001; number++) {
      const args = { ...engine.operator, name: `account ${number}` };
      const { account } = await engine.mutation<{ account: { id: string } }>("accounts:create", args);
      made.push(account.id);
    }
    await engine.close();
    Storage.open(join(folder, "kinde.sqlite")).close();
    mkdirSync(join(folder, "spool"));
    writeFileSync(join(folder, "spool", "0.00000001.clicks"), "");
    writeFileSync(join(folder, "spool", "0.lock"), "");

    const remains = readRemains(folder);
    expect(remains.rows("accounts").map(({ _id }) => _id)).toEqual(made);
    expect(remains.rows("jobs")).toEqual([]);
    expect(remains.provider.events).toEqual([]);
    expect(remains.spoolFiles).toEqual(["0.00000001.clicks"]);
  });
});
