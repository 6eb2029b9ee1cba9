import { readKeyCaller } from "./api/caller.ts";
import { errorResponse } from "./api/router.ts";
import { jsonResponse } from "./api/answers.ts";
import { convexApi, type Answered } from "./convex-functions.ts";
import type { ServerDeps } from "./deps.ts";
import { type BatchCounts, batchCounts } from "./gate-batches.ts";
import { type GuardName, heldBackCounts } from "./held-back.ts";
import type { Answer, PlainRequest, PlainResponse } from "./http.ts";
import { processRequestCounts, type RequestCounts } from "./request-counts.ts";
import { openRedirects } from "./redirect-deps.ts";
import type { Redirects } from "./redirect/redirects.ts";
import type { WebhookCounts } from "./webhooks/handler.ts";
import { webhookCounts } from "./webhooks/process.ts";

/** What goes up and down; everything else counts since the start of the process. */
const GAUGES = new Set([
  "queued",
  "queuedBytes",
  "inFlight",
  "oldestQueuedAtMs",
  "segments",
  "links",
  "unknown",
  "bytes",
]);

type Runs = Answered<typeof convexApi.health.forOperators>["runs"];

export interface Metrics {
  readonly atMs: number;
  readonly api: RequestCounts;
  /** Of writes to the gate that travelled together. */
  readonly batches: BatchCounts;
  /** Of the clicks that this process answers; null before the first one where only Next.js runs. */
  readonly clicks: ReturnType<Redirects["metrics"]> | null;
  readonly linkCache: ReturnType<Redirects["links"]["stats"]> | null;
  /** Deliveries of billing webhooks; null before the first one. */
  readonly webhooks: WebhookCounts | null;
  /** Requests that were held back with a 429, by guard. */
  readonly heldBack: Readonly<Record<GuardName, number>>;
  readonly runs: Runs;
}

/**
 * `GET /api/metrics`, for the operator key: JSON, or Prometheus text for whoever accepts `text/plain`. The numbers are
 * of this process; each has its own.
 */
export async function metricsResponse(request: PlainRequest, deps: ServerDeps): Promise<Answer> {
  try {
    // The backend knows the operator key; the state of the periodic workers comes with its word.
    const caller = readKeyCaller(request.headers);
    const { runs, nowMs: atMs } = await deps.convex.query(convexApi.health.forOperators, {}, caller);
    const redirects = openRedirects();
    const clicks = redirects?.metrics() ?? null;
    const linkCache = redirects?.links.stats() ?? null;
    const metrics = {
      atMs,
      api: processRequestCounts(),
      batches: batchCounts(),
      clicks,
      linkCache,
      webhooks: webhookCounts(),
      heldBack: heldBackCounts(),
      runs,
    };
    const wantsText = (request.headers.get("accept") ?? "").includes("text/plain");
    const answer = wantsText
      ? textResponse(metrics)
      : jsonResponse({ ...metrics, api: metrics.api.summary() });
    return request.method === "HEAD" ? { ...answer, text: null } : answer;
  } catch (error) {
    return errorResponse(error, deps);
  }
}

function textResponse(metrics: Metrics): PlainResponse {
  const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" };
  return { status: 200, headers, text: prometheusText(metrics) };
}

/** The Prometheus text format. Names are `holdfast_<part>_<what>`, with `_total` for counters. */
export function prometheusText(metrics: Metrics): string {
  const { api, batches, clicks, linkCache, webhooks, heldBack, runs } = metrics;
  const lines = [
    ...api.prometheusLines(),
    ...partLines("gate_batches", batches),
    ...partLines("clicks", clicks),
    ...partLines("link_cache", linkCache),
  ];
  if (webhooks !== null) {
    const { refused, ...answered } = webhooks;
    lines.push(...partLines("webhooks", answered), "# TYPE holdfast_webhooks_refused_total counter");
    for (const [reason, count] of Object.entries(refused)) {
      lines.push(`holdfast_webhooks_refused_total{reason=${JSON.stringify(reason)}} ${count}`);
    }
  }
  lines.push("# TYPE holdfast_held_back_total counter");
  for (const [guard, count] of Object.entries(heldBack)) {
    lines.push(`holdfast_held_back_total{guard=${JSON.stringify(guard)}} ${count}`);
  }
  const good = runs.filter(({ lastGoodAtMs }) => lastGoodAtMs !== null);
  if (good.length > 0) lines.push("# TYPE holdfast_run_last_good_ms gauge");
  for (const { name, lastGoodAtMs } of good) {
    lines.push(`holdfast_run_last_good_ms{name=${JSON.stringify(name)}} ${lastGoodAtMs}`);
  }
  return `${lines.join("\n")}\n`;
}

function partLines(part: string, numbers: object | null): string[] {
  return Object.entries(numbers ?? {}).flatMap(([name, value]) => {
    if (typeof value !== "number") return [];
    const isGauge = GAUGES.has(name);
    const words = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const metric = `holdfast_${part}_${words}${isGauge ? "" : "_total"}`;
    return [`# TYPE ${metric} ${isGauge ? "gauge" : "counter"}`, `${metric} ${value}`];
  });
}
