import type { KnownAgreement } from "../../lib/inbox/agreements.ts";
import type { Backend, StoredRow } from "./backend.ts";

export type Body = Readonly<Record<string, unknown>>;

type Owned<Fields> = StoredRow & { readonly accountId: string } & Fields;

interface AccountRow extends StoredRow {
  readonly kindeUserId: string;
  readonly customerId: string | null;
  readonly planKey: string;
  readonly planSetBy: string | null;
  readonly email: string | null;
  readonly overdueSinceMs: number | null;
  readonly profile: { readonly email: string | null } | null;
  readonly deletedAtMs: number | null;
}

/** What every customer has come to, by user id, in the shape of `settled` in tests/inbox/model.ts. */
export async function readCustomers(backend: Backend): Promise<Map<string, unknown>> {
  const accounts = await backend.readAll<AccountRow>("accounts");
  const planFacts = byAccount(await backend.readAll<Owned<{ eventId: string }>>("planChanges"));
  const paymentFacts = byAccount(await backend.readAll<Owned<{ eventId: string }>>("payments"));
  const agreements = byAccount(await backend.readAll<Owned<KnownAgreement>>("agreements"));
  const credits = byAccount(await backend.readAll<Owned<{ period: string; units: number }>>("credits"));
  return new Map(
    accounts.map((row) => {
      const { _id: id, kindeUserId: userId, customerId, planKey, planSetBy } = row;
      const { overdueSinceMs, profile, deletedAtMs } = row;
      const account = { userId, customerId, planKey, planSetBy, overdueSinceMs, profile, deletedAtMs };
      if (row.email !== (profile?.email ?? null))
        throw new Error(`${userId} has another email than its profile`);
      const end = {
        account,
        planFacts: idsOf(planFacts.get(id)),
        paymentFacts: idsOf(paymentFacts.get(id)),
        agreements: (agreements.get(id) ?? [])
          .toSorted((one, other) => (one.agreementId < other.agreementId ? -1 : 1))
          .map(({ agreementId, planKey, fromMs, untilMs }) => ({ agreementId, planKey, fromMs, untilMs })),
        credits: sumsOf(credits.get(id)),
      };
      return [userId, end];
    }),
  );
}

function byAccount<Row extends { readonly accountId: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.accountId);
    if (group === undefined) groups.set(row.accountId, [row]);
    else group.push(row);
  }
  return groups;
}

function idsOf(rows: readonly { readonly eventId: string }[] = []): string[] {
  return rows.map(({ eventId }) => eventId).toSorted();
}

function sumsOf(rows: readonly { readonly period: string; readonly units: number }[] = []) {
  const sums: Record<string, number> = {};
  for (const { period, units } of rows.toSorted((one, other) => (one.period < other.period ? -1 : 1))) {
    sums[period] = (sums[period] ?? 0) + units;
  }
  return sums;
}
