import { jsonResponse } from "./api/answers.ts";
import { checkHealth, type HealthReport } from "./health.ts";
import type { PlainResponse } from "./http.ts";
import { processClock } from "./process-clock.ts";
import { openRedirects } from "./redirect-deps.ts";
import { ConfigurationError, processDeps } from "./process-deps.ts";
import type { ConvexGateway } from "./convex.ts";

/** Who looks when this process is down may look again so soon: the health checks that anybody may make allow it. */
const RETRY_AFTER_SECONDS = 5;

/** The state of this process and of what it needs, asked for now. */
export async function currentHealth(): Promise<HealthReport> {
  return await checkHealth({
    convex: configuredGateway(),
    spool: openRedirects()?.spoolState() ?? null,
    nowMs: () => processClock().nowMs(),
    elapsedMs: () => performance.now(),
    uptimeSeconds: () => process.uptime(),
  });
}

/**
 * `GET /api/health`, without a key. 503 only when a part that requests need is down: a late sweeper is shown as
 * `degraded` with 200, because admissions still work and restarting the web process would not help.
 */
export async function healthResponse(): Promise<PlainResponse> {
  const report = await currentHealth();
  const answer = jsonResponse(report, report.status === "down" ? 503 : 200);
  if (report.status !== "down") return answer;
  return { ...answer, headers: { ...answer.headers, "retry-after": String(RETRY_AFTER_SECONDS) } };
}

function configuredGateway(): ConvexGateway | undefined {
  try {
    return processDeps().convex;
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}
