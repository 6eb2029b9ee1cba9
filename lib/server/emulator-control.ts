import { z } from "zod";
import { isLoopback } from "../kinde/environment.ts";
import { faultBody } from "../kinde/fault-offers.ts";
import { exchange } from "../kinde/http.ts";

/**
 * The faults of the Kinde emulator, for the operators' screen. `npm start` tells this process where the control API is
 * and its key, and only when the emulator runs; neither ever goes to a browser. No page reaches the emulator itself.
 */

const TIMEOUT_MS = 5_000;

const settings = z.object({
  endpoint: z.string(),
  fault: z.string(),
  count: z.number().optional(),
  durationMs: z.number().optional(),
});
const activeFault = z.object({ id: z.string(), settings, hits: z.number() });
const struckFault = z.object({ settings, hits: z.number(), lastAtMs: z.number() });
const stateAnswer = z.object({ faults: z.array(activeFault), struck: z.array(struckFault) });

export type ActiveFault = z.output<typeof activeFault>;
/** A kind of fault that has struck since the emulator started, on or off by now. */
export type StruckFault = z.output<typeof struckFault>;

export interface FaultsState {
  readonly faults: readonly ActiveFault[];
  /** The latest first. */
  readonly struck: readonly StruckFault[];
}

export type FaultsOutcome =
  | ({ readonly kind: "done" } & FaultsState)
  /** Not one of those that can be switched on, or there are too many. */
  | { readonly kind: "refused" }
  | { readonly kind: "unreachable" };

export interface EmulatorControl {
  list(): Promise<FaultsOutcome>;
  /** Switches on an offer of lib/kinde/fault-offers.ts for one of its spans. */
  add(offerId: unknown, spanId: unknown): Promise<FaultsOutcome>;
  /** Switches off one fault, or all. */
  remove(id: string | null): Promise<FaultsOutcome>;
}

/** Null where no emulator runs. An address that is not on this machine is none of an emulator. */
export function emulatorControl(env: Readonly<Record<string, string | undefined>>): EmulatorControl | null {
  const { KINDE_EMULATOR_CONTROL_URL: base = "", KINDE_EMULATOR_CONTROL_KEY: key = "" } = env;
  if (key === "" || !URL.canParse(base) || !isLoopback(new URL(base).hostname)) return null;

  const call = async (method: "GET" | "POST" | "DELETE", path: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return await exchange(fetch, { method, url: new URL(path, base), headers, ...text }, TIMEOUT_MS);
  };
  const list = async (): Promise<FaultsOutcome> => {
    const outcome = await call("GET", "/control/state");
    const answer = stateAnswer.safeParse(outcome.kind === "answered" ? outcome.json : undefined);
    return answer.success ? { kind: "done", ...answer.data } : { kind: "unreachable" };
  };
  return {
    list,
    async add(offerId, spanId) {
      const body = faultBody(offerId, spanId);
      if (body === null) return { kind: "refused" };
      const outcome = await call("POST", "/control/faults", body);
      if (outcome.kind === "lost") return { kind: "unreachable" };
      return outcome.status === 201 ? await list() : { kind: "refused" };
    },
    async remove(id) {
      const query = id === null ? "" : `?id=${encodeURIComponent(id)}`;
      const outcome = await call("DELETE", `/control/faults${query}`);
      return outcome.kind === "lost" ? { kind: "unreachable" } : await list();
    },
  };
}
