import type { LogEvent } from "./deps.ts";
import { processValue } from "./process-value.ts";

/** Upper bounds in milliseconds; what takes longer than the last is counted in all but none of them. */
const BUCKETS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000] as const;

export interface AnsweredRequest {
  readonly requestId: string;
  /** The operation of the API description; `none` where no route was found. */
  readonly operation: string;
  readonly status: number;
  readonly elapsedMs: number;
}

interface Times {
  /** Requests up to each bound of `BUCKETS_MS`, each counted once. */
  readonly counts: number[];
  total: number;
  sumMs: number;
}

/** Requests of the API since the start of the process: how many ended how, and how long they took. */
export class RequestCounts {
  private readonly statuses = new Map<string, number>();
  private readonly times = new Map<string, Times>();

  add({ operation, status, elapsedMs }: AnsweredRequest): void {
    const labels = `operation=${JSON.stringify(operation)},status="${status}"`;
    this.statuses.set(labels, (this.statuses.get(labels) ?? 0) + 1);
    const times = this.times.get(operation) ?? { counts: BUCKETS_MS.map(() => 0), total: 0, sumMs: 0 };
    const bucket = BUCKETS_MS.findIndex((boundMs) => elapsedMs <= boundMs);
    if (bucket !== -1) times.counts[bucket]! += 1;
    times.total += 1;
    times.sumMs += elapsedMs;
    this.times.set(operation, times);
  }

  /** By operation and status, for people and programs that read JSON. */
  summary() {
    return {
      requests: Object.fromEntries(this.statuses),
      meanMs: Object.fromEntries(
        [...this.times].map(([operation, { total, sumMs }]) => [operation, sumMs / total]),
      ),
    };
  }

  /** Lines of the Prometheus text format. */
  prometheusLines(): string[] {
    if (this.times.size === 0) return [];
    const lines = ["# TYPE holdfast_api_requests_total counter"];
    for (const [labels, count] of this.statuses)
      lines.push(`holdfast_api_requests_total{${labels}} ${count}`);
    lines.push("# TYPE holdfast_api_request_duration_ms histogram");
    for (const [operation, { counts, total, sumMs }] of this.times) {
      const name = "holdfast_api_request_duration_ms";
      const label = `operation=${JSON.stringify(operation)}`;
      let upTo = 0;
      for (const [index, boundMs] of BUCKETS_MS.entries()) {
        upTo += counts[index]!;
        lines.push(`${name}_bucket{${label},le="${boundMs}"} ${upTo}`);
      }
      lines.push(`${name}_bucket{${label},le="+Inf"} ${total}`);
      lines.push(`${name}_sum{${label}} ${sumMs}`, `${name}_count{${label}} ${total}`);
    }
    return lines;
  }
}

const kept = processValue<RequestCounts>("requests");

export function processRequestCounts(): RequestCounts {
  return kept.get() ?? kept.set(new RequestCounts());
}

/** The line of a log that has one for each request. */
export function requestLine({ requestId, operation, status, elapsedMs }: AnsweredRequest): LogEvent {
  return { event: "request", requestId, operation, status, elapsedMs: Math.round(elapsedMs * 10) / 10 };
}
