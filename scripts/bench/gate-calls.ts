// The gate's calls as the benches make them, in the engine and over HTTP: a key, jobs, life cycles.
import { createHash, randomBytes } from "node:crypto";
import { answerFault, mustCall, type ApiClient } from "../support/api-client.mjs";
import type { LocalEngine } from "../support/temp-engine.ts";

export interface GateAccount {
  /** Admits one job and leaves it running. Throws when it is not admitted. */
  admit(key: string, units: number): Promise<{ id: string; fence: number }>;
  /** Admit, three charges, settle. The id of the job. */
  lifeCycle(key: string): Promise<string>;
}

export type OpenAccount = (name: string) => Promise<GateAccount>;

const LIMIT_UNITS = 1_000_000_000_000;
const JOBS_PER_MINUTE = 10_000_000;
const CYCLE_STEPS = [400, 300, 300];

interface Admitted {
  readonly kind: string;
  readonly job: { readonly id: string; readonly fence: number };
  readonly refreshLease?: string;
}

/** What a caller of the gate's functions proves itself with. Stays good when the database is opened again. */
export interface EngineAuth {
  readonly serverSecret: string;
  readonly keyHash: string;
}

/** Makes an account with an API key on an engine in this process. */
export async function makeEngineAccount(engine: LocalEngine, name: string): Promise<EngineAuth> {
  const created = await engine.mutation<{ account: { id: string } }>("accounts:create", {
    ...engine.operator,
    name,
    limitUnits: LIMIT_UNITS,
    jobsPerMinute: JOBS_PER_MINUTE,
  });
  const keyHash = createHash("sha256").update(randomBytes(32)).digest("hex");
  await engine.mutation("apiKeys:create", {
    ...engine.operator,
    accountId: created.account.id,
    keyHashNew: keyHash,
    prefix: "hf_live_bench",
    name,
    scopes: ["jobs:read", "jobs:write", "usage:read", "links:write"],
  });
  return { serverSecret: engine.serverSecret, keyHash };
}

/** Opens accounts on an engine in this process. */
export function engineAccounts(engine: LocalEngine): OpenAccount {
  return async (name) => engineAccount(engine, await makeEngineAccount(engine, name));
}

export function engineAccount(engine: LocalEngine, auth: EngineAuth): GateAccount {
  const admit = async (key: string, units: number): Promise<Admitted["job"]> => {
    for (;;) {
      const answer = await engine.mutation<Admitted>("gate:admit", { ...auth, key, units });
      if (answer.kind === "admitted") return answer.job;
      if (answer.kind === "refresh_needed") {
        await engine.action("limits:refresh", { ...auth, refreshLease: answer.refreshLease ?? "" });
      } else if (answer.kind !== "refresh_pending") {
        throw new Error(`not admitted: ${JSON.stringify(answer)}`);
      }
    }
  };
  const insist = async (kind: string, path: string, args: Record<string, string | number>) => {
    const answer = await engine.mutation<{ kind: string }>(path, { ...auth, ...args });
    if (answer.kind !== kind) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  };
  return {
    admit,
    async lifeCycle(key) {
      const { id, fence } = await admit(key, 1000);
      for (const [index, units] of CYCLE_STEPS.entries()) {
        await insist("charged", "gate:charge", { jobId: id, step: index + 1, units, fence });
      }
      await insist("settled", "gate:settle", { jobId: id, outcome: "completed", fence });
      return id;
    },
  };
}

/** Opens accounts through the HTTP API. */
export function httpAccounts(client: ApiClient, operatorKey: string): OpenAccount {
  const post = (path: string, token: string, body: object) =>
    mustCall(client, { method: "POST", path, token, body });
  return async (name) => {
    const body = { name, limitUnits: LIMIT_UNITS, jobsPerMinute: JOBS_PER_MINUTE };
    const { account } = await post("/accounts", operatorKey, body);
    const { secret } = await post(`/accounts/${account.id}/keys`, operatorKey, { name });
    const admit = async (key: string, units: number) => {
      const call = { method: "POST", path: "/jobs", token: secret, body: { key, units } } as const;
      const answer = await client.call(call);
      if (answer.status !== 201) throw new Error(answerFault(call, answer));
      return answer.body.job;
    };
    return {
      admit,
      async lifeCycle(key) {
        const { id, fence } = await admit(key, 1000);
        for (const [index, units] of CYCLE_STEPS.entries()) {
          await post(`/jobs/${id}/charge`, secret, { step: index + 1, units, fence });
        }
        await post(`/jobs/${id}/settle`, secret, { outcome: "completed", fence });
        return id;
      },
    };
  };
}
