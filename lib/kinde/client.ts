import { SECOND_MS } from "../shared/durations.ts";
import { readAgreements, type AgreementsRead } from "./agreements.ts";
import { createManagementApi } from "./api.ts";
import { findCustomer, type CustomerLookup } from "./customers.ts";
import { readEntitlements, type EntitlementsRead } from "./entitlements.ts";
import type { Failure } from "./failure.ts";
import { readMeter, writeMeter, type MeterAddress, type MeterRead, type MeterWrite } from "./meters.ts";
import { checkSettings, type KindeSettings } from "./settings.ts";
import type { TokenStore } from "./token.ts";
import { readWebhooks, type WebhooksRead } from "./webhooks.ts";

const CALL_TIMEOUT_MS = 5 * SECOND_MS;
/** A whole read with its retries and pages. Below the ten seconds of the gate's refresh lease. */
const BUDGET_MS = 8 * SECOND_MS;
const ATTEMPTS_MAX = 4;

export interface KindeClientOptions extends KindeSettings {
  readonly tokenStore: TokenStore;
  /** The time of day; may be a test clock. Used for the life of tokens and for `sentAtMs`. */
  readonly nowMs: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly fetch?: typeof fetch;
  /** A stopwatch in real time, for the budget of an operation. */
  readonly elapsedMs?: () => number;
  readonly callTimeoutMs?: number;
  readonly budgetMs?: number;
  /** Tries of one read in all, the first included. */
  readonly attemptsMax?: number;
}

/** Kinde's management API as far as Holdfast uses it. Outcomes are returned; `TokenStoreError` may be thrown. */
export interface KindeClient {
  findCustomer(query: { readonly userId: string }): Promise<CustomerLookup | Failure>;
  readEntitlements(query: { readonly customerId: string }): Promise<EntitlementsRead | Failure>;
  readAgreements(query: { readonly customerId: string }): Promise<AgreementsRead | Failure>;
  writeMeter(write: MeterWrite): Promise<{ readonly kind: "written" | "already_there" } | Failure>;
  readMeter(read: MeterAddress & { readonly allCycles?: boolean }): Promise<MeterRead | Failure>;
  readWebhooks(): Promise<WebhooksRead | Failure>;
}

/**
 * A client for one Kinde tenant, or for the emulator: it talks to the issuer it is given. The vendor's own client
 * cannot, since it puts https in front of every address. Needs fetch, URL, AbortController and timers, so it runs in
 * Convex actions as well as in Node. Throws `KindeSettingsError`.
 */
export function createKindeClient(options: KindeClientOptions): KindeClient {
  const api = createManagementApi({
    ...options,
    settings: checkSettings(options),
    // Called as a plain function: some runtimes refuse a fetch with another `this`.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    elapsedMs: options.elapsedMs ?? (() => performance.now()),
    callTimeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
    budgetMs: options.budgetMs ?? BUDGET_MS,
    attemptsMax: options.attemptsMax ?? ATTEMPTS_MAX,
  });
  return {
    findCustomer: (query) => findCustomer(api, query),
    readEntitlements: (query) => readEntitlements(api, query),
    readAgreements: (query) => readAgreements(api, query),
    writeMeter: (write) => writeMeter(api, write),
    readMeter: (read) => readMeter(api, read),
    readWebhooks: () => readWebhooks(api),
  };
}
