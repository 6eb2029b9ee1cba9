import { afterEach, beforeEach, expect, test } from "vitest";

import { type Backend, createBackend, type StoredRow } from "../helpers/backend.ts";
import { ledgerOf } from "../helpers/ledger.ts";
import { createTenant, operatorOf, type Tenant } from "../helpers/tenant.ts";

interface AuditRow extends StoredRow {
  readonly actor: string;
  readonly action: string;
  readonly accountId: string | null;
}

let backend: Backend;
let ledger: ReturnType<typeof ledgerOf>;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend({ testFunctions: true });
  ledger = ledgerOf(backend);
  tenant = await createTenant(backend);
  await ledger.clicks(tenant.accountId, 3);
});
afterEach(() => backend.close());

const marks = async () => [...(await backend.readAll("runs")), ...(await backend.readAll("runHistory"))];

/** What an operator can run for one account, and how the audit names it. */
const RUNS = [
  ["ops:reconcile", "meters_reconciled"],
  ["ops:report", "totals_reported"],
  ["drift:check", "drift_checked"],
] as const;

test.each(RUNS)(
  "%s of one account does not pass for a run of all, and says who asked",
  async (path, action) => {
    const { accountId } = tenant;
    const before = await marks();
    const ran = await operatorOf(backend).action(path, { accountId });
    expect(ran).toMatchObject({ kind: "ran" });
    expect(await marks()).toEqual(before);
    const lines = await backend.readAll<AuditRow>("audit");
    expect(lines.filter((line) => line.action === action)).toMatchObject([
      { actor: "operator key", accountId },
    ]);
  },
);

test.each(RUNS)("%s of one account leaves the marks of the last run of all as they were", async (path) => {
  await operatorOf(backend).action(path, {});
  const before = await marks();
  expect(before).not.toEqual([]);
  await operatorOf(backend).action(path, { accountId: tenant.accountId });
  expect(await marks()).toEqual(before);
});

test("of one account the evidence is kept and the answer lists all meters", async () => {
  await ledger.report();
  const answer = await ledger.reconcile(tenant.accountId);
  expect(answer).toMatchObject({
    status: "good",
    counts: { accounts: 1, kept_here: 1 },
    meters: [{ verdict: "match" }],
  });
  expect(await ledger.evidence()).toHaveLength(1);
});
