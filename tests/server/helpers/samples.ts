/** Values as the Convex functions answer them; the tests change single fields. */

export const JOB_ID = "j57000820c20a1g7104gm2rc1m70ynr8";
export const ACCOUNT_ID = "k57000820c20a1g7104gm2rc1m70ynr8";
export const KEY_ID = "m57000820c20a1g7104gm2rc1m70ynr8";

export const job = {
  id: JOB_ID,
  key: "job-1",
  kind: "default",
  feature: "tokens",
  status: "running",
  requestedUnits: 1000,
  heldUnits: 1000,
  usedUnits: 0,
  returnedUnits: 0,
  overCapUnits: 0,
  step: 0,
  fence: 1,
  leaseMs: 120_000,
  leaseExpiresAtMs: 1_790_000_120_000,
  cycle: "2026-10",
  startedAtMs: 1_790_000_000_000,
  endedAtMs: null,
  runner: null,
};

export const limit = { limitUnits: 100_000, readAtMs: 1_790_000_000_000, stale: false, provider: "fixed" };

export const room = {
  requestedUnits: 50,
  usedUnits: 20,
  heldUnits: 80,
  limitUnits: 100,
  freeUnits: 0,
  nextCycleStartMs: 1_793_000_000_000,
};

export const account = {
  id: ACCOUNT_ID,
  name: "First account",
  email: null,
  createdAtMs: 1_790_000_000_000,
  cycleAnchorMs: 1_790_000_000_000,
  cycleAnchorSource: "created",
  jobsPerMinute: 120,
  provider: "fixed",
};

export const apiKey = {
  id: KEY_ID,
  prefix: "hf_live_abcd",
  name: "First key",
  scopes: ["jobs:read", "jobs:write", "usage:read"],
  createdAtMs: 1_790_000_000_000,
  revokedAtMs: null,
  lastUsedAtMs: null,
};

export const usage = {
  accountId: ACCOUNT_ID,
  feature: "tokens",
  cycle: { name: "2026-10", startMs: 1_790_000_000_000, endMs: 1_793_000_000_000 },
  usedUnits: 20,
  heldUnits: 80,
  limit,
  limitAgeMs: 1_000,
  freeUnits: 99_900,
  running: [job],
};

export const estimate = {
  kind: "default",
  jobs: 12,
  p50UsedUnits: 400,
  p90UsedUnits: 900,
  p99UsedUnits: 1000,
  p50UsedShare: 0.4,
  p90UsedShare: 0.9,
  cappedShare: 0.1,
  lockedUnits: 6000,
  suggestedUnits: 1000,
};
