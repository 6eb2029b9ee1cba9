import { control, addCustomer, machine, type Customer } from "../kinde/emulator/calls.ts";
import { EMULATOR_ENV, openEmulator } from "../kinde/emulator/emulator-server.ts";
import { createBackend } from "./backend.ts";
import { ledgerOf } from "./ledger.ts";

const METER_PATH = "/api/v1/billing/meter_usage";
export const METER_WRITE = `POST ${METER_PATH}`;
export const METER_READ = `GET ${METER_PATH}`;

/** A deployment and the Kinde emulator over HTTP, with one customer and one clock. */
export async function openKindeLedger({ aheadMs = 0 }: { aheadMs?: number } = {}) {
  const emulator = await openEmulator();
  const customer: Customer = await addCustomer(emulator.url, "grace@example.com");
  // The customer has signed up this long ago.
  emulator.advance(aheadMs);
  const env = {
    KINDE_ISSUER_URL: emulator.url,
    KINDE_M2M_CLIENT_ID: EMULATOR_ENV["KINDE_M2M_CLIENT_ID"]!,
    KINDE_M2M_CLIENT_SECRET: EMULATOR_ENV["KINDE_M2M_CLIENT_SECRET"]!,
  };
  const backend = await createBackend({ startMs: emulator.nowMs(), env, testFunctions: true });
  const accountId = await backend.mutation<string>("signIn:link", {
    kindeUserId: customer.userId,
    customerId: customer.customerId,
    email: "grace@example.com",
  });
  const call = control(emulator.url);
  const readMeter = await machine(emulator.url);

  return {
    emulator,
    customer,
    accountId,
    backend,
    ledger: ledgerOf(backend),
    /** Asks the provider for the limit and the agreements, as sign-in and the return from the plan page do. */
    signIn: () => backend.as({ subject: customer.userId }).action("limits:refreshNow", {}),
    async agreementIds(): Promise<string[]> {
      const rows = await backend.readAll<{ _id: string; _creationTime: number; agreementId: string }>(
        "agreements",
      );
      return rows.map(({ agreementId }) => agreementId);
    },
    /** Both clocks together. */
    async advance(ms: number): Promise<void> {
      emulator.advance(ms);
      await backend.advanceMs(ms);
    },
    async fault(fault: string, change: Record<string, unknown> = {}): Promise<void> {
      const reply = await call("/control/faults", { fault, endpoint: METER_WRITE, count: 1, ...change });
      if (reply.status !== 201) throw new Error(reply.text);
    },
    endFaults: () => call("/control/faults", undefined, "DELETE"),
    changePlan: (planKey: string) => call(`/control/users/${customer.userId}/plan`, { planKey }),
    /** Takes the customer away at the provider, with all that is theirs. */
    async removeCustomer(): Promise<void> {
      const reply = await call(`/control/users/${customer.userId}`, undefined, "DELETE");
      if (reply.status >= 300) throw new Error(reply.text);
    },
    /** What Kinde would tell of the current cycle. */
    async total(agreementId: string = customer.agreementId): Promise<number> {
      const query = `customer_agreement_id=${agreementId}&billing_feature_code=clicks`;
      const { json } = await readMeter(`${METER_PATH}?${query}`);
      return Number(json.usage.current_total);
    },
    async records(agreementId: string = customer.agreementId): Promise<string[]> {
      const query = `customer_agreement_id=${agreementId}&billing_feature_code=clicks&all_cycles=true`;
      const { json } = await readMeter(`${METER_PATH}?${query}`);
      return json.usage.records.map((record: { meter_value: string }) => record.meter_value).toReversed();
    },
    /** An absolute write by hand. */
    write: (units: number, agreementId: string = customer.agreementId) =>
      readMeter(METER_PATH, {
        customer_agreement_id: agreementId,
        billing_feature_code: "clicks",
        meter_value: String(units),
        meter_type_code: "absolute",
      }),
    async close(): Promise<void> {
      await backend.close();
      await emulator.close();
    },
  };
}

export type KindeLedger = Awaited<ReturnType<typeof openKindeLedger>>;
