/** The network between the engine's actions and the provider, with everything that can happen on it. */
import type { Chance } from "./chance.ts";
import type { Faults } from "./faults.ts";
import { answer, type ApiAnswer, type ApiRequest } from "./provider-api.ts";
import type { Provider } from "./provider.ts";
import type { Trace } from "./trace.ts";
import type { Machine } from "./turns.ts";

const WAY_MS_MAX = 40;
/** The client gives up after 5 s; a slow answer comes just before that or just after. */
const SLOW_MS_MAX = 6_000;
/** A write that was given up lands this much later at most. lib/ledger/report-state.ts counts on no more than 45 s. */
const LATE_MS_MAX = 38_000;
const LOOK_EVERY_MS = 500;

const TROUBLES = {
  rate_limited: 4,
  rate_limited_without_reset: 1,
  server_error: 4,
  no_connection: 2,
  /** It is done, and the answer is lost. */
  lost_reply: 4,
  /** The connection breaks, and it is done some time later. */
  late: 4,
  /** Nothing ever comes back, and nothing is done. */
  hang: 2,
  hang_and_late: 2,
  slow: 3,
  cut_answer: 1,
} as const;

export interface WireOptions {
  readonly provider: Provider;
  /** The provider's own machine: what is under way there goes on when the engine dies. */
  readonly machine: Machine;
  readonly faults: Faults;
  readonly chance: Chance;
  readonly trace: Trace;
}

/** A fetch that ends at the model of the provider. */
export function wireTo(options: WireOptions): typeof fetch {
  const { machine, faults, chance, trace, provider } = options;
  return async (input, init) => {
    const request = requestOf(input as string, init);
    const name = `${request.method} ${request.path}`;
    const done = (): ApiAnswer => {
      const given = answer(provider, request);
      if (request.method === "POST" && request.path !== "/oauth2/token") {
        trace.note(`provider ${name} ${request.body} -> ${given.status}`);
      }
      return given;
    };
    // By the time of day: a clock that is set forward is a night in which all machines slept.
    const land = async (lateMs: number): Promise<void> => {
      const dueMs = provider.nowMs() + lateMs;
      while (provider.nowMs() < dueMs) await machine.sleep(Math.min(LOOK_EVERY_MS, dueMs - provider.nowMs()));
      done();
    };
    await machine.sleep(chance.share() * WAY_MS_MAX);
    if (!chance.strikes(faults.provider)) {
      const given = done();
      await machine.sleep(chance.share() * WAY_MS_MAX);
      return responseOf(given);
    }
    const trouble = chance.weighted(TROUBLES);
    trace.note(`wire ${trouble} ${name}`);
    const lateMs = chance.between(1_000, LATE_MS_MAX);
    switch (trouble) {
      case "rate_limited":
        return refusal(429, { "RateLimit-Reset": String(chance.between(1, 20)) });
      case "rate_limited_without_reset":
        return refusal(429);
      case "server_error":
        return refusal(chance.pick([500, 502, 503]));
      case "no_connection":
        throw brokenBy("ECONNREFUSED");
      case "lost_reply":
        done();
        throw brokenBy("ECONNRESET");
      case "late":
        void land(lateMs);
        throw brokenBy("ECONNRESET");
      case "hang_and_late":
        void land(lateMs);
        return new Promise<never>(() => undefined);
      case "hang":
        return new Promise<never>(() => undefined);
      case "slow":
        await machine.sleep(chance.share() * SLOW_MS_MAX);
        return responseOf(done());
      case "cut_answer":
        return new Response('{"code":"O', { status: done().status });
    }
  };
}

function requestOf(address: string, init: RequestInit | undefined): ApiRequest {
  const url = new URL(address);
  const body = typeof init?.body === "string" ? init.body : "";
  return { method: init?.method ?? "GET", path: url.pathname, query: url.searchParams, body };
}

function responseOf({ status, json }: ApiAnswer): Response {
  return new Response(JSON.stringify(json), { status });
}

function refusal(status: number, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ errors: [{ code: "REFUSED", message: "no" }] }), { status, headers });
}

/** As Node's fetch throws it. */
function brokenBy(code: string): TypeError {
  return new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
}
