import { afterEach, beforeEach } from "vitest";
import { createKindeClient, type KindeClient, type KindeClientOptions } from "../../../lib/kinde/client.ts";
import type { Failure } from "../../../lib/kinde/failure.ts";
import type { StoredToken, TokenStore } from "../../../lib/kinde/token.ts";
import { startScriptedServer, type ScriptedServer } from "./scripted-server.ts";

export const TOKEN_PATH = "/oauth2/token";
export const ENTITLEMENTS_PATH = "/api/v1/billing/entitlements";
export const AGREEMENTS_PATH = "/api/v1/billing/agreements";
export const METER_PATH = "/api/v1/billing/meter_usage";
export const USER_PATH = "/api/v1/user";

export const CLIENT_ID = "m2m0client0id";
/** Texts that must never come out again, whatever goes wrong. */
export const SECRET = "CanarySecret0CanarySecret0CanarySecret0CanarySecret";
export const TOKEN = "canary.token.one";

export const OK = { code: "OK", message: "Success" };
export const tokenBody = (accessToken = TOKEN, expiresIn = 3600) => ({
  access_token: accessToken,
  expires_in: expiresIn,
  token_type: "Bearer",
  scope: "",
});
export const emptyEntitlements = { ...OK, has_more: false, plans: [], entitlements: [] };
export const row = (id: string, featureCode: string, max: unknown) => ({
  id,
  feature_code: featureCode,
  entitlement_limit_max: max,
});

export interface MemoryStore extends TokenStore {
  token: StoredToken | null;
  reads: number;
}

export function memoryStore(token: StoredToken | null = null): MemoryStore {
  const store: MemoryStore = {
    token,
    reads: 0,
    async read() {
      store.reads += 1;
      return store.token;
    },
    async write(written) {
      store.token = written;
    },
  };
  return store;
}

export interface Bench {
  readonly server: ScriptedServer;
  readonly store: MemoryStore;
  /** The waits the client asked for. They pass on its stopwatch at once. */
  readonly slept: number[];
  /** The time of day, moved by hand. */
  clockMs: number;
  /** What passes on the stopwatch besides the waits. */
  elapsedMs: number;
  client(options?: Partial<KindeClientOptions>): KindeClient;
}

export const START_MS = Date.UTC(2026, 9, 5, 9);

/** A server, a store and a client for each test; what was scripted must have been used when the test ends. */
export function useBench(): Bench {
  let server: ScriptedServer | null = null;
  let store = memoryStore();
  const slept: number[] = [];
  const bench: Bench = {
    get server() {
      return server!;
    },
    get store() {
      return store;
    },
    slept,
    clockMs: START_MS,
    elapsedMs: 0,
    client: (options) =>
      createKindeClient({
        issuerUrl: server!.url,
        clientId: CLIENT_ID,
        clientSecret: SECRET,
        tokenStore: store,
        nowMs: () => bench.clockMs,
        elapsedMs: () => bench.elapsedMs,
        random: () => 0.5,
        sleep: async (ms) => {
          slept.push(ms);
          bench.elapsedMs += ms;
        },
        ...options,
      }),
  };
  beforeEach(async () => {
    server = await startScriptedServer();
    store = memoryStore();
    slept.length = 0;
    bench.clockMs = START_MS;
    bench.elapsedMs = 0;
  });
  afterEach(() => server!.close());
  return bench;
}

/** A failure with the fields that are not named at their quiet values. */
export function failed(fields: Partial<Failure>): unknown {
  return { kind: "failed", status: null, retryAfterMs: null, committed: "no", errorCode: null, ...fields };
}
