import type { ReportState } from "../../lib/ledger/report-state.ts";
import type { Backend, StoredRow } from "./backend.ts";
import { operatorOf } from "./tenant.ts";

export interface MeterRow extends StoredRow {
  readonly accountId: string;
  readonly agreementId: string | null;
  readonly feature: string;
  readonly cycle: string;
  readonly cycleEndMs: number;
}

export interface EvidenceRow extends StoredRow {
  readonly meterId: string;
  readonly ledgerUnits: number;
  readonly counterUnits: number;
  readonly sentUnits: number | null;
  readonly providerUnits: number | null;
  readonly verdict: string;
  readonly cause: string | null;
  readonly status: string;
  readonly readBackUnits: number | null;
  readonly error: string | null;
}

export interface MeterResult {
  readonly accountName: string;
  readonly feature: string;
  readonly cycle: string;
  readonly agreementId: string | null;
  readonly ledgerUnits: number;
  readonly sentUnits: number | null;
  readonly meterUnits: number | null;
  readonly readBackUnits: number | null;
  readonly verdict: string;
  readonly status: string;
  readonly cause: string | null;
}

export interface Reconciled {
  readonly kind: "ran";
  readonly status: "good" | "failed";
  readonly counts: Record<string, number>;
  readonly meters: MeterResult[];
}

let callsMade = 0;

/** The ledger as tests drive it: clicks in, runs on demand, rows out. */
export function ledgerOf(backend: Backend) {
  const operator = operatorOf(backend);
  return {
    /** Books clicks with keys of their own, now or at an instant. */
    clicks(accountId: string, count: number, options: { atMs?: number; units?: number } = {}) {
      callsMade += 1;
      return backend.mutation<number>("testLedger:clicks", {
        accountId,
        prefix: `call-${callsMade}`,
        count,
        ...options,
      });
    },
    async report(accountId?: string): Promise<Record<string, number>> {
      const args = accountId === undefined ? {} : { accountId };
      const answer = await operator.action<{ counts: Record<string, number> }>("ops:report", args);
      return answer.counts;
    },
    reconcile(accountId?: string): Promise<Reconciled> {
      const args = accountId === undefined ? {} : { accountId };
      return operator.action<Reconciled>("ops:reconcile", args);
    },
    async fixedTotals(): Promise<number[]> {
      const rows = await backend.readAll<StoredRow & { totalUnits: number }>("fixedTotals");
      return rows.map(({ totalUnits }) => totalUnits);
    },
    meters: () => backend.readAll<MeterRow>("meters"),
    marks: () => backend.readAll<StoredRow & { meterId: string; dueAtMs: number }>("marks"),
    evidence: () => backend.readAll<EvidenceRow>("evidence"),
    reviews: () => backend.readAll<StoredRow & { kind: string; subject: string; status: string }>("reviews"),
    async states(): Promise<ReportState[]> {
      const rows = await backend.readAll<StoredRow & { state: ReportState }>("reports");
      return rows.map(({ state }) => state);
    },
    operator,
  };
}
