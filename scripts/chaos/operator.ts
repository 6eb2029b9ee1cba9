// The operator's calls, far more often than the crons make them: reports, reconciliations, sweeps, audits.
import type { Chance } from "../../lib/simulator/chance.ts";
import { type Load, pause } from "./client.ts";
import type { Cast } from "./open.ts";

const CALL_WEIGHTS = { report: 5, reconcile: 2, "reconcile one": 2, sweep: 2, audit: 1 } as const;
const PAUSE_MS_MAX = 500;

export async function operate(load: Load, chance: Chance, cast: Cast, operatorKey: string) {
  const headers = { authorization: `Bearer ${operatorKey}` };
  const { calls } = load.journal;
  while (!load.stopping.aborted) {
    const call = chance.weighted(CALL_WEIGHTS);
    const { accountId } = chance.pick(cast.customers);
    const path = call === "reconcile one" ? "reconcile" : call;
    // Sweep and audit take no body.
    const body =
      path === "sweep" || path === "audit" ? {} : { body: call === "reconcile one" ? { accountId } : {} };
    const reply = await load.wire.send({
      method: "POST",
      url: `${load.apiUrl}/ops/${path}`,
      headers,
      ...body,
    });
    if (reply.kind === "answered" && reply.status === 200) calls.set(path, (calls.get(path) ?? 0) + 1);
    await pause(load, chance.below(PAUSE_MS_MAX));
  }
}
