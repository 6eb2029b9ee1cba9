import type { AdmitAnswer } from "../../convex/admission";
import type { ExtendAnswer } from "../../convex/extension";
import type { ChargeAnswer, HeartbeatAnswer, SettleAnswer } from "../../convex/jobEvents";
import { runAdmission } from "../../lib/gate/admission-loop.ts";
import type { JobView } from "../../lib/gate/job-view.ts";
import type { LimitUnknown, LimitView, Refusal } from "../../lib/gate/types.ts";
import { scope } from "../../lib/server/api/answer-schemas.ts";
import { must } from "../../lib/shared/assert.ts";
import { type Backend, OPERATOR_KEY_HASH, SERVER_SECRET } from "./backend.ts";

type Refused = { kind: "refused"; refusal: LimitUnknown | Refusal };
type NotFound = { kind: "not_found" };

export interface Usage {
  readonly cycle: { readonly name: string; readonly startMs: number; readonly endMs: number };
  readonly usedUnits: number;
  readonly heldUnits: number;
  readonly freeUnits: number | null;
  readonly limit: LimitView | null;
  readonly running: JobView[];
}

/** What an operator can do, with the operator key. */
export function operatorOf(backend: Backend) {
  const keys = { serverSecret: SERVER_SECRET, keyHash: OPERATOR_KEY_HASH };
  return {
    mutation: <Answer>(path: string, args: object) => backend.mutation<Answer>(path, { ...keys, ...args }),
    query: <Answer>(path: string, args: object) => backend.query<Answer>(path, { ...keys, ...args }),
    sweep: () => backend.action<{ expired: number; batches: number; broken: number }>("ops:sweep", keys),
    action: <Answer>(path: string, args: object) => backend.action<Answer>(path, { ...keys, ...args }),
    audit: () => backend.action<{ budgets: number; repaired: number }>("ops:audit", keys),
  };
}

export interface TenantOptions {
  /** Left out: no limit is set. */
  readonly limitUnits?: number | null;
  readonly jobsPerMinute?: number;
  readonly cycleAnchor?: string;
}

export type Tenant = Awaited<ReturnType<typeof createTenant>>;

let keysMade = 0;

/** A fresh account with one key, and the calls that a program with that key makes. */
export async function createTenant(backend: Backend, options: TenantOptions = {}) {
  const operator = operatorOf(backend);
  const { account } = await operator.mutation<{ account: { id: string } }>("accounts:create", {
    name: "tenant",
    ...options,
  });
  keysMade += 1;
  const keyHash = keysMade.toString(16).padStart(64, "0");
  const addKey = (keyHashNew: string, scopes: readonly string[]) =>
    operator.mutation("apiKeys:create", {
      accountId: account.id,
      keyHashNew,
      prefix: "hf_live_test",
      name: "test",
      scopes,
    });
  await addKey(keyHash, scope.options);
  const keys = { serverSecret: SERVER_SECRET, keyHash };
  const mutation = <Answer>(path: string, args: object) =>
    backend.mutation<Answer>(path, { ...keys, ...args });
  const query = <Answer>(path: string, args: object) => backend.query<Answer>(path, { ...keys, ...args });

  /** One try, as it comes out of the transaction. */
  const admitOnce = (args: object) => mutation<AdmitAnswer>("gate:admit", args);
  type Refreshed = { kind: "refreshed" | "failed" };
  let reading: Promise<Refreshed> | null = null;
  const refresh = async (refreshLease: string): Promise<Refreshed> => {
    reading = backend.action<Refreshed>("limits:refresh", { ...keys, refreshLease });
    const refreshed = await reading;
    reading = null;
    return refreshed;
  };
  /** A reading takes none of the time that only the test moves, so nobody gives up on it. */
  const sleep = async (ms: number): Promise<void> => {
    if (reading === null) await backend.advanceMs(ms);
    else await reading;
  };
  const ports = { refresh, nowMs: () => backend.nowMs(), sleep };

  /** To a decision, refreshing on the way, as the server does it. */
  const admit = (args: object): Promise<Extract<AdmitAnswer, { kind: "admitted" }> | Refused> =>
    runAdmission({ ...ports, attempt: () => mutation("gate:admit", args) });
  const extend = (
    args: object,
  ): Promise<Exclude<ExtendAnswer, { kind: `refresh_${string}` }> | Refused | NotFound> =>
    runAdmission({ ...ports, attempt: () => mutation("gate:extend", args) });

  return {
    accountId: account.id,
    keyHash,
    addKey,
    mutation,
    query,
    action: (path: string, args: object = {}) => backend.action(path, { ...keys, ...args }),
    admitOnce,
    refresh,
    admit,
    extend,
    /** Admits and insists on it. */
    async start(args: object): Promise<JobView> {
      const answer = await admit(args);
      if (answer.kind !== "admitted") throw new Error(`not admitted: ${JSON.stringify(answer)}`);
      return answer.job;
    },
    charge: (args: object) => mutation<ChargeAnswer | Refused | NotFound>("gate:charge", args),
    heartbeat: (args: object) => mutation<HeartbeatAnswer | NotFound>("gate:heartbeat", args),
    settle: (args: object) => mutation<SettleAnswer | Refused | NotFound>("gate:settle", args),
    kill: (jobId: string) => mutation<{ kind: string; job?: JobView }>("runner:kill", { jobId }),
    usage: () => query<Usage>("gate:usage", {}),
    async job(jobId: string): Promise<JobView> {
      return must(await query<JobView | null>("gate:getJob", { jobId }), `job ${jobId} is gone`);
    },
    setLimit: (limitUnits: number | null) =>
      operator.mutation("accounts:setLimit", { accountId: account.id, limitUnits }),
    removeLimit: () => operator.mutation("accounts:removeLimit", { accountId: account.id }),
  };
}
