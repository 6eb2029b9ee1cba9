import { makeFunctionReference } from "convex/server";
import type { z } from "zod";
import type * as wire from "./api/wire-schemas.ts";

/**
 * The Convex functions that this server calls, by name and by type. Types come from the wire schemas, so a handler
 * cannot answer what the OpenAPI document does not promise. `serverSecret` and `keyHash` are added by the gateway.
 */

type Job = z.output<typeof wire.job>;
type Limit = z.output<typeof wire.limit>;
type Refusal = z.output<typeof wire.refusal>;
type Account = z.output<typeof wire.account>;
type ApiKey = z.output<typeof wire.apiKey>;
type Runner = z.output<typeof wire.runner>;

type NotFound = { kind: "not_found" };
/** The job moved on without the caller: its lease ended, or it was settled earlier. */
type JobMovedOn = { kind: "lease_lost"; job: Job } | { kind: "not_running"; job: Job } | NotFound;
type Refused = { kind: "refused"; refusal: Refusal };
type RefreshNeeded =
  | { kind: "refresh_needed"; accountId: string; feature: string; refreshLease: string }
  | { kind: "refresh_pending"; retryAfterMs: number };

export type AdmitArgs = {
  key: string;
  units: number;
  acceptUnits?: number | undefined;
  kind?: string | undefined;
  leaseMs?: number | undefined;
  runner?: Runner | undefined;
};
export type AdmitAnswer =
  | { kind: "admitted"; job: Job; replayed: boolean; limit: Limit }
  | RefreshNeeded
  | Refused;
export type ExtendAnswer = { kind: "extended"; job: Job } | Refused | RefreshNeeded | JobMovedOn;
export type ChargeAnswer =
  | { kind: "charged"; job: Job; chargedUnits: number; capped: boolean; replayed: boolean }
  | { kind: "step_conflict"; job: Job; expectedStep: number }
  | Refused
  | JobMovedOn;
export type SettleAnswer =
  | { kind: "settled"; job: Job; replayed: boolean }
  | Refused
  | { kind: "lease_lost"; job: Job }
  | NotFound;
export type PreviewAnswer =
  | { kind: "would_admit"; heldUnits: number; [number: string]: unknown }
  | { kind: "would_refuse"; refusal: Refusal }
  | { kind: "refresh_needed" };

export interface RunView {
  name: string;
  status: string;
  lastStartedAtMs: number | null;
  lastFinishedAtMs: number | null;
  lastGoodAtMs: number | null;
  counts: unknown;
}

type Page = { cursor: string | null; limit: number };

export const gate = {
  admit: makeFunctionReference<"mutation", AdmitArgs, AdmitAnswer>("gate:admit"),
  charge: makeFunctionReference<
    "mutation",
    { jobId: string; step: number; units: number; fence: number },
    ChargeAnswer
  >("gate:charge"),
  heartbeat: makeFunctionReference<
    "mutation",
    { jobId: string; fence?: number | undefined; takeOver?: boolean | undefined },
    { kind: "renewed"; job: Job } | JobMovedOn
  >("gate:heartbeat"),
  extend: makeFunctionReference<"mutation", { jobId: string; units: number; fence: number }, ExtendAnswer>(
    "gate:extend",
  ),
  settle: makeFunctionReference<
    "mutation",
    { jobId: string; outcome: string; usedUnits?: number | undefined; fence?: number | undefined },
    SettleAnswer
  >("gate:settle"),
  preview: makeFunctionReference<
    "query",
    { units: number; acceptUnits?: number | undefined; nowMs?: number | undefined },
    PreviewAnswer
  >("gate:preview"),
  getJob: makeFunctionReference<"query", { jobId: string }, Job | null>("gate:getJob"),
  listJobs: makeFunctionReference<
    "query",
    { status?: string | undefined; kind?: string | undefined } & Page,
    { jobs: Job[]; cursor: string | null }
  >("gate:listJobs"),
  usage: makeFunctionReference<"query", Record<string, never>, z.output<typeof wire.usage>>("gate:usage"),
  estimates: makeFunctionReference<
    "query",
    { kind?: string | undefined },
    z.output<typeof wire.estimatesAnswer>
  >("gate:estimates"),
};

export const limits = {
  refresh: makeFunctionReference<"action", { refreshLease: string }, { kind: "refreshed" | "failed" }>(
    "limits:refresh",
  ),
};

export const runner = {
  kill: makeFunctionReference<
    "mutation",
    { jobId: string },
    { kind: "killed"; job: Job } | { kind: "not_running"; job?: Job } | NotFound
  >("runner:kill"),
};

export const accounts = {
  create: makeFunctionReference<
    "mutation",
    {
      name: string;
      email?: string | undefined;
      limitUnits?: number | null | undefined;
      jobsPerMinute?: number | undefined;
      cycleAnchor?: string | undefined;
    },
    { account: Account }
  >("accounts:create"),
  get: makeFunctionReference<"query", { accountId: string }, Account | null>("accounts:get"),
  list: makeFunctionReference<"query", Page, { accounts: Account[]; cursor: string | null }>("accounts:list"),
  setLimit: makeFunctionReference<
    "mutation",
    { accountId: string; feature?: string | undefined; limitUnits: number | null },
    ({ kind: "set" } & Record<string, unknown>) | NotFound
  >("accounts:setLimit"),
  removeLimit: makeFunctionReference<
    "mutation",
    { accountId: string },
    { kind: "removed" | "set" } | NotFound
  >("accounts:removeLimit"),
  setRate: makeFunctionReference<
    "mutation",
    { accountId: string; jobsPerMinute: number },
    ({ kind: "set" } & Record<string, unknown>) | NotFound
  >("accounts:setRate"),
};

export const apiKeys = {
  create: makeFunctionReference<
    "mutation",
    { accountId: string; keyHashNew: string; prefix: string; name: string; scopes: string[] },
    { kind: "created"; apiKey: ApiKey } | NotFound
  >("apiKeys:create"),
  list: makeFunctionReference<"query", { accountId: string }, { apiKeys: ApiKey[] }>("apiKeys:list"),
  revoke: makeFunctionReference<
    "mutation",
    { accountId: string; apiKeyId: string },
    { kind: "revoked"; apiKey: ApiKey } | NotFound
  >("apiKeys:revoke"),
  rotate: makeFunctionReference<
    "mutation",
    { accountId: string; apiKeyId: string; keyHashNew: string; prefix: string },
    { kind: "rotated"; apiKey: ApiKey } | NotFound
  >("apiKeys:rotate"),
};

export const ops = {
  sweep: makeFunctionReference<"action", Record<string, never>, z.output<typeof wire.sweepAnswer>>(
    "ops:sweep",
  ),
  audit: makeFunctionReference<"action", Record<string, never>, z.output<typeof wire.auditAnswer>>(
    "ops:audit",
  ),
};

export const health = {
  get: makeFunctionReference<"query", Record<string, never>, { nowMs: number; runs: RunView[] }>(
    "health:get",
  ),
};
