/**
 * Test files that need our own engine. On the official mock (HOLDFAST_TEST_BACKEND=convex-test) they are left out, by
 * vitest.config.ts: there a function scheduled for now does not run before the clock is moved, each transaction moves
 * the clock by a millisecond, no write can be made to fail or to conflict, and thousands of rows take minutes. All others
 * pass on both.
 */
export const ENGINE_ONLY = [
  "account-deletion",
  "alerts",
  "clicks",
  "cycle-anchor",
  "data-export",
  "drift",
  "engine-room",
  "entries",
  "inbox-faults",
  "inbox",
  "lab-purge",
  "lost-conflicts",
  "overdue",
  "provider-down",
  "reconciler",
  "reminders",
  "reporter-kinde",
  "reporter",
  "retention",
  "screens-customer",
  "webhook-alarm",
].map((name) => `tests/convex/${name}.test.ts`);
