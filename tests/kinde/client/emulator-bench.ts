import { afterEach, beforeEach } from "vitest";
import { createKindeClient, type KindeClient, type KindeClientOptions } from "../../../lib/kinde/client.ts";
import { addCustomer, control, type Customer } from "../emulator/calls.ts";
import { EMULATOR_ENV, openEmulator, type TestEmulator } from "../emulator/emulator-server.ts";
import { memoryStore, type MemoryStore } from "./fixtures.ts";

/** An emulator for each test, a customer on the free plan, and clients that talk to it over HTTP. */
export interface EmulatorBench {
  readonly emulator: TestEmulator;
  readonly customer: Customer;
  /** The token store and the waits of the newest client. */
  readonly store: MemoryStore;
  readonly slept: number[];
  client(options?: Partial<KindeClientOptions>): KindeClient;
  /** Gives the customer a plan and returns the new agreement's id. */
  changePlan(planKey: string): Promise<string>;
  fault(endpoint: string, fault: string, settings?: object): Promise<void>;
  clearFaults(): Promise<void>;
  /** How many requests an endpoint got. */
  requests(method: string, path: string): Promise<number>;
}

export const EMAIL = "grace@example.com";

export function useEmulator(): EmulatorBench {
  let emulator: TestEmulator | null = null;
  let customer: Customer | null = null;
  let store = memoryStore();
  let elapsedMs = 0;
  const slept: number[] = [];

  beforeEach(async () => {
    emulator = await openEmulator();
    customer = await addCustomer(emulator.url, EMAIL);
  });
  afterEach(async () => {
    await emulator!.close();
  });

  async function operate<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const reply = await control(emulator!.url)(`/control${path}`, body, method);
    if (reply.status >= 300) throw new Error(`${method} /control${path}: ${reply.status} ${reply.text}`);
    return reply.json as Answer;
  }

  return {
    get emulator() {
      return emulator!;
    },
    get customer() {
      return customer!;
    },
    get store() {
      return store;
    },
    slept,
    client(options) {
      store = memoryStore();
      slept.length = 0;
      return createKindeClient({
        issuerUrl: emulator!.url,
        clientId: EMULATOR_ENV["KINDE_M2M_CLIENT_ID"]!,
        clientSecret: EMULATOR_ENV["KINDE_M2M_CLIENT_SECRET"]!,
        tokenStore: store,
        nowMs: () => emulator!.nowMs(),
        elapsedMs: () => elapsedMs,
        random: () => 0,
        sleep: async (ms) => {
          slept.push(ms);
          elapsedMs += ms;
        },
        ...options,
      });
    },
    async changePlan(planKey) {
      const path = `/users/${customer!.userId}/plan`;
      return (await operate<{ agreement: { id: string } }>("POST", path, { planKey })).agreement.id;
    },
    async fault(endpoint, fault, settings) {
      await operate("POST", "/faults", { endpoint, fault, ...settings });
    },
    async clearFaults() {
      await operate("DELETE", "/faults");
    },
    async requests(method, path) {
      const log = await operate<{ entries: { method: string; path: string }[] }>("GET", "/log");
      return log.entries.filter((entry) => entry.method === method && entry.path === path).length;
    },
  };
}
