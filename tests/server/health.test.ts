import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { formatClockState } from "../../lib/shared/clock.ts";
import { checkHealth } from "../../lib/server/health.ts";
import { healthResponse } from "../../lib/server/health-response.ts";
import { toResponse } from "../../lib/server/http.ts";
import { SERVER_SECRET, apiHarness } from "./helpers/api.ts";

const api = await apiHarness();
const NOW_MS = 1_790_000_000_000;

const run = (name: string, agoMs: number | null) => ({
  name,
  status: "good",
  lastStartedAtMs: NOW_MS - (agoMs ?? 0) - 5,
  lastFinishedAtMs: NOW_MS - (agoMs ?? 0),
  lastGoodAtMs: agoMs === null ? null : NOW_MS - agoMs,
  counts: { expired: 0 },
});

beforeEach(() => {
  vi.stubEnv("CONVEX_URL", api.convex.url);
  vi.stubEnv("HOLDFAST_SERVER_SECRET", SERVER_SECRET);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function check() {
  const response = toResponse(await healthResponse());
  return { status: response.status, headers: response.headers, json: await response.json() };
}

describe("the health check", () => {
  test("is ok when every part is, and is not cached", async () => {
    api.convex.on("health:get", {
      value: { nowMs: NOW_MS, runs: [run("sweeper", 4000), run("audit", 60_000)] },
    });
    const { status, headers, json } = await check();
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(json).toMatchObject({
      status: "ok",
      // The clock of the ages, which may be a test clock, and not that of this process.
      atMs: NOW_MS,
      parts: {
        web: { status: "ok", uptimeSeconds: expect.any(Number) },
        convex: { status: "ok", latencyMs: expect.any(Number) },
        sweeper: { status: "ok", lastGoodAtMs: NOW_MS - 4000, ageMs: 4000, counts: { expired: 0 } },
        audit: { status: "ok", ageMs: 60_000 },
      },
    });
    expect(JSON.stringify(json)).not.toContain(SERVER_SECRET);
  });

  test.each<[agoMs: number | null, status: string, overall: string]>([
    [60_000, "ok", "ok"],
    [60_001, "late", "degraded"],
    [null, "waiting", "ok"],
  ])("a sweeper whose last good run is %s ms ago is %s", async (agoMs, status, overall) => {
    api.convex.on("health:get", { value: { nowMs: NOW_MS, runs: [run("sweeper", agoMs)] } });
    const health = await check();
    expect(health.status).toBe(200);
    expect(health.json.parts.sweeper.status).toBe(status);
    expect(health.json.status).toBe(overall);
  });

  test.each<[name: string, status: string, overall: string]>([
    // The next one by itself is a day away.
    ["reconciler", "failed", "degraded"],
    // Tried again within seconds or within the hour.
    ["sweeper", "ok", "ok"],
    ["drift", "ok", "ok"],
  ])("C32: after one failed run %s is %s", async (name, status, overall) => {
    const failed = { ...run(name, 30_000), status: "failed", lastFinishedAtMs: NOW_MS - 1_000 };
    for (const seen of [failed, { ...failed, status: "running" }]) {
      api.convex.on("health:get", { value: { nowMs: NOW_MS, runs: [seen] } });
      const { json } = await check();
      expect(json.parts[name]).toMatchObject({ status, lastGoodAtMs: NOW_MS - 30_000, ageMs: 30_000 });
      expect(json.status).toBe(overall);
    }
  });

  test.each<[name: string, lateAfterMs: number]>([
    ["inbox", 180_000],
    ["reporter", 300_000],
    ["reminders", 300_000],
    ["alerts", 300_000],
    ["audit", 7_200_000],
    ["drift", 7_200_000],
    ["retention", 10_800_000],
    ["reconciler", 93_600_000],
  ])("%s is late when its last good run is more than %s ms ago", async (name, lateAfterMs) => {
    for (const [agoMs, status, overall] of [
      [lateAfterMs, "ok", "ok"],
      [lateAfterMs + 1, "late", "degraded"],
    ] as const) {
      api.convex.on("health:get", { value: { nowMs: NOW_MS, runs: [run(name, agoMs)] } });
      const { json } = await check();
      expect(json.parts[name].status).toBe(status);
      expect(json.status).toBe(overall);
    }
  });

  test("is degraded, and names what the system said, when clicks cannot be appended to the spool", async () => {
    api.convex.on("health:get", { value: { nowMs: NOW_MS, runs: [] } });
    const deps = { convex: api.deps.convex, nowMs: () => NOW_MS, elapsedMs: () => 0, uptimeSeconds: () => 1 };
    const broken = await checkHealth({ ...deps, spool: { status: "down", code: "ENOSPC" } });
    expect(broken).toMatchObject({
      status: "degraded",
      parts: { spool: { status: "down", code: "ENOSPC" } },
    });
    const whole = await checkHealth({ ...deps, spool: { status: "ok" } });
    expect(whole).toMatchObject({ status: "ok", parts: { spool: { status: "ok" } } });
  });

  test("is 503 when Convex does not answer, without saying where it is", async () => {
    vi.stubEnv("CONVEX_URL", "http://127.0.0.1:1");
    const { status, headers, json } = await check();
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("5");
    expect(json).toMatchObject({
      status: "down",
      parts: { convex: { status: "down", reason: "no answer" } },
    });
    expect(JSON.stringify(json)).not.toContain("127.0.0.1");
  });

  test("is 503 when Convex does not take the server's secret", async () => {
    api.convex.on("health:get", { errorData: { code: "server_refused", message: "no" } });
    const { status, json } = await check();
    expect(status).toBe(503);
    expect(json.parts.convex.reason).toBe("this server is refused");
  });

  test("without a backend the time is that of the stack's clock all the same", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "holdfast-clock-")), "clock.json");
    const aheadMs = 40 * 86_400_000;
    const realMs = Date.now();
    writeFileSync(
      file,
      formatClockState({ anchorRealMs: realMs, anchorVirtualMs: realMs + aheadMs, rate: 1 }),
    );
    vi.stubEnv("HOLDFAST_TEST_CLOCK", file);
    vi.stubEnv("CONVEX_URL", "");
    const { json } = await check();
    expect(Math.abs(json.atMs - Date.now() - aheadMs)).toBeLessThan(60_000);
  });

  test("is 503 when the process is not configured", async () => {
    vi.stubEnv("CONVEX_URL", "");
    const { status, json } = await check();
    expect(status).toBe(503);
    expect(json.parts.convex).toEqual({ status: "down", latencyMs: null, reason: "not configured" });
  });
});
