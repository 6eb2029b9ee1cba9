import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Backend, createBackend } from "../helpers/backend.ts";
import { createTenant } from "../helpers/tenant.ts";

let backend: Backend;
beforeEach(async () => {
  backend = await createBackend();
});
afterEach(() => backend.close());

describe("reading the limit", () => {
  test.each([8, 50])("A36b: %i first admissions at once read the provider once", async (count) => {
    const tenant = await createTenant(backend);
    await tenant.setLimit(1_000);
    const first = await Promise.all(
      Array.from({ length: count }, (_, index) => tenant.admitOnce({ key: `k${index}`, units: 1 })),
    );
    const leases = first.flatMap((answer) => (answer.kind === "refresh_needed" ? [answer.refreshLease] : []));
    expect(leases).toEqual(["tokens.1"]);
    expect(first.filter((answer) => answer.kind === "refresh_pending")).toHaveLength(count - 1);

    const startedAtMs = backend.nowMs();
    expect(await tenant.refresh(leases[0]!)).toEqual({ kind: "refreshed" });
    const second = await Promise.all(
      Array.from({ length: count }, (_, index) => tenant.admitOnce({ key: `k${index}`, units: 1 })),
    );
    expect(second.every((answer) => answer.kind === "admitted")).toBe(true);
    expect(backend.nowMs() - startedAtMs).toBeLessThan(2_000);
    expect(await backend.readAll("limits")).toMatchObject([{ refreshFence: 1, limitUnits: 1_000 }]);
  });

  test("A36b: when the one that refreshes dies, the others are told within two seconds, the next refreshes", async () => {
    const tenant = await createTenant(backend);
    await tenant.setLimit(1_000);
    expect(await tenant.admitOnce({ key: "dies", units: 1 })).toMatchObject({ kind: "refresh_needed" });
    const startedAtMs = backend.nowMs();
    expect(await tenant.admit({ key: "waits", units: 1 })).toMatchObject({
      kind: "refused",
      refusal: { code: "limit_unknown" },
    });
    expect(backend.nowMs() - startedAtMs).toBe(1_500);
    await backend.advanceMs(8_500);
    expect(await tenant.admit({ key: "next", units: 1 })).toMatchObject({ kind: "admitted" });
  });

  test("a lease that was not granted reads nothing", async () => {
    const tenant = await createTenant(backend);
    await tenant.setLimit(1_000);
    expect(await tenant.refresh("tokens.1")).toEqual({ kind: "failed" });
    expect(await tenant.refresh("nonsense")).toEqual({ kind: "failed" });
    expect(await backend.readAll("limits")).toEqual([]);
  });

  test("nor does the lease of somebody else, or one that was used", async () => {
    const tenant = await createTenant(backend);
    await tenant.setLimit(1_000);
    expect(await tenant.admitOnce({ key: "k", units: 1 })).toMatchObject({ refreshLease: "tokens.1" });
    expect(await tenant.refresh("tokens.2")).toEqual({ kind: "failed" });
    expect(await backend.readAll("limits")).toMatchObject([{ readAtMs: null }]);
    expect(await tenant.refresh("tokens.1")).toEqual({ kind: "refreshed" });
    const [read] = await backend.readAll("limits");
    await backend.advanceMs(1_000);
    expect(await tenant.refresh("tokens.1")).toEqual({ kind: "failed" });
    expect(await backend.readAll("limits")).toEqual([read]);
  });

  test("A10: while the provider is down the last limit serves for ten minutes, marked stale", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    await tenant.removeLimit();
    await backend.advanceMs(599_000);
    expect(await tenant.admit({ key: "9:59", units: 1 })).toMatchObject({
      kind: "admitted",
      limit: { limitUnits: 100, stale: true },
    });
    await backend.advanceMs(2_000);
    expect(await tenant.admit({ key: "10:01", units: 1 })).toMatchObject({
      kind: "refused",
      refusal: { code: "limit_unknown", retryAfterMs: expect.closeTo(3_000, -2) },
    });
    await tenant.setLimit(100);
    expect(await tenant.admit({ key: "back", units: 1 })).toMatchObject({
      kind: "admitted",
      limit: { stale: false },
    });
  });

  test("A10: an account whose limit was never set is told that it is unknown", async () => {
    const tenant = await createTenant(backend);
    expect(await tenant.admit({ key: "k", units: 1 })).toMatchObject({
      refusal: { code: "limit_unknown", retryAfterMs: expect.closeTo(5_000, -2) },
    });
    expect(await tenant.query("gate:preview", { units: 1 })).toMatchObject({
      refusal: { code: "limit_unknown" },
    });
  });

  test("a read a minute old is used by all but the one that refreshes it", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    await backend.advanceMs(60_000);
    expect(await tenant.admitOnce({ key: "a", units: 1 })).toMatchObject({ kind: "refresh_needed" });
    expect(await tenant.admitOnce({ key: "b", units: 1 })).toMatchObject({
      kind: "admitted",
      limit: { stale: true },
    });
  });

  test("a question about an account that was left alone for long has the limit read, as often as admissions do", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    await backend.advanceMs(600_000);
    expect(await tenant.query("gate:preview", { units: 1 })).toEqual({ kind: "refresh_needed" });
    expect(await tenant.usage()).toMatchObject({ limit: null });
    expect(await tenant.action("limits:refreshForPreview")).toEqual({ kind: "refreshed" });
    expect(await tenant.query("gate:preview", { units: 1 })).toMatchObject({ kind: "would_admit" });
    expect(await tenant.usage()).toMatchObject({ limit: { limitUnits: 100 } });
    expect(await tenant.action("limits:refreshForUsage")).toEqual({ kind: "failed" });
  });

  test("a limit that an operator sets is obeyed by the next admission", async () => {
    const tenant = await createTenant(backend, { limitUnits: 100 });
    await tenant.setLimit(5);
    expect(await tenant.admit({ key: "k", units: 6 })).toMatchObject({ refusal: { limitUnits: 5 } });
    await tenant.setLimit(null);
    expect(await tenant.admit({ key: "k", units: 6 })).toMatchObject({
      kind: "admitted",
      limit: { limitUnits: null },
    });
    expect(await tenant.usage()).toMatchObject({
      limitState: "unlimited",
      limit: { limitUnits: null },
      freeUnits: null,
    });
    expect(await backend.readAll("audit")).toMatchObject([
      { action: "account_created" },
      { action: "api_key_created" },
      { action: "limit_set", details: { before: 100, after: 5 } },
      { action: "limit_set", details: { before: 5, after: null } },
    ]);
  });
});
