import { createHmac, randomBytes } from "node:crypto";

import { describe, expect, test } from "vitest";

import {
  ATTEMPTS_MAX,
  claimAlert,
  LEASE_MS,
  newAlert,
  parseAlertSecret,
  settleAlert,
  signAlert,
  type AlertProgress,
} from "../../lib/inbox/alert.ts";
import { must } from "../../lib/shared/assert.ts";

const claimed = (alert: AlertProgress, nowMs: number): AlertProgress => {
  const claim = claimAlert(alert, nowMs);
  if (claim.kind !== "claimed") throw new Error(claim.kind);
  return claim.progress;
};

describe("the way of an alert", () => {
  test("six attempts, each after the wait of the one before, then it is given up", () => {
    let alert = newAlert(0);
    const waits: number[] = [];
    let nowMs = 0;
    for (;;) {
      const attempt = claimed(alert, nowMs);
      alert = must(settleAlert(attempt, attempt.attempts, "it answered 500", nowMs), "it is held");
      if (alert.status !== "waiting") break;
      waits.push(alert.nextAttemptAtMs! - nowMs);
      expect(claimAlert(alert, alert.nextAttemptAtMs! - 1)).toEqual({ kind: "not_due" });
      nowMs = alert.nextAttemptAtMs!;
    }
    expect(waits).toEqual([5_000, 30_000, 120_000, 600_000, 3_600_000]);
    expect(alert).toMatchObject({ status: "given_up", attempts: ATTEMPTS_MAX, nextAttemptAtMs: null });
    expect(claimAlert(alert, nowMs * 2)).toEqual({ kind: "not_due" });
  });

  test("nobody else sends it before the lease of a sender has ended, and the first one is then heard no more", () => {
    const first = claimed(newAlert(0), 0);
    expect(claimAlert(first, LEASE_MS - 1)).toEqual({ kind: "not_due" });
    const second = claimed(first, LEASE_MS);
    expect(settleAlert(second, 1, null, LEASE_MS)).toBeNull();
    expect(settleAlert(second, 2, null, LEASE_MS + 1)).toMatchObject({
      status: "sent",
      sentAtMs: LEASE_MS + 1,
    });
  });

  test("senders that die use up its attempts as well", () => {
    let alert = newAlert(0);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) alert = claimed(alert, attempt * LEASE_MS);
    const claim = claimAlert(alert, ATTEMPTS_MAX * LEASE_MS);
    expect(claim).toMatchObject({
      kind: "given_up",
      progress: { status: "given_up", nextAttemptAtMs: null },
    });
    expect(JSON.stringify(claim)).toContain("the sender stopped");
  });
});

test("a message is signed as Standard Webhooks has it", async () => {
  const bytes = randomBytes(32);
  const key = must(parseAlertSecret(`whsec_${bytes.toString("base64")}`), "a good secret");
  const alert = {
    id: "m1",
    kind: "dead_event",
    subject: 'ä "event"',
    detail: "…",
    createdAtMs: 1_790_000_000_000,
  };
  const { body, headers } = await signAlert(alert, key, 1_790_000_005_999);
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const expected = createHmac("sha256", bytes).update(signed).digest("base64");
  expect(headers).toMatchObject({
    "webhook-id": "m1",
    "webhook-timestamp": "1790000005",
    "webhook-signature": `v1,${expected}`,
  });
  const { createdAtMs, ...told } = alert;
  const createdAt = new Date(createdAtMs).toISOString();
  expect(JSON.parse(body)).toEqual({ type: "review.opened", ...told, createdAt });
});

test.each([
  undefined,
  "",
  "whsec_",
  randomBytes(32).toString("base64"),
  `whsec_${randomBytes(23).toString("base64")}`,
  `whsec_${randomBytes(65).toString("base64")}`,
  `whsec_${"a".repeat(33)}`,
  `whsec_${"-".repeat(32)}`,
  ` whsec_${randomBytes(24).toString("base64")}`,
])("%j is no secret to sign with", (secret) => {
  expect(parseAlertSecret(secret)).toBeNull();
});
