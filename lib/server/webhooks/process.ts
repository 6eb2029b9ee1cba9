import { cachedKeys } from "../../inbox/keys.ts";
import { convexApi } from "../convex-functions.ts";
import type { PlainRequest, PlainResponse } from "../http.ts";
import { ConfigurationError, logLine, processDeps } from "../process-deps.ts";
import { processValue } from "../process-value.ts";
import { problemResponse } from "../api/answers.ts";
import { createWebhooks, type Webhooks } from "./handler.ts";

/** Once in a process, so that keys are cached once. */
const kept = processValue<{ readonly issuerUrl: string; readonly webhooks: Webhooks }>("webhooks");

/** The endpoint with the tenant and the deployment of this process. One that names none answers 503. */
export async function handleWebhook(request: PlainRequest): Promise<PlainResponse> {
  const issuerUrl = process.env.KINDE_ISSUER_URL?.trim().replace(/\/+$/, "") ?? "";
  try {
    // The deployment is looked up with each delivery; a process that lacks it says so before it reads a body.
    processDeps();
    if (issuerUrl === "")
      throw new ConfigurationError("The environment variable KINDE_ISSUER_URL is not set.");
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    logLine({ event: "not_configured", message: error.message });
    return problemResponse("unavailable", "This server is not configured yet.", { retryAfterMs: 5000 });
  }
  return await webhooksOf(issuerUrl).handle(request);
}

/** What was counted in this process; null before the first delivery. */
export function webhookCounts(): Webhooks["counts"] | null {
  return kept.get()?.webhooks.counts ?? null;
}

function webhooksOf(issuerUrl: string): Webhooks {
  const before = kept.get();
  if (before?.issuerUrl === issuerUrl) return before.webhooks;
  const keys = cachedKeys({
    jwksUrl: `${issuerUrl}/.well-known/jwks.json`,
    elapsedMs: () => performance.now(),
  });
  const webhooks = createWebhooks({
    issuerUrl,
    keys,
    deliver: (delivery) => processDeps().convex.mutation(convexApi.inbox.deliver, delivery),
    log: logLine,
  });
  return kept.set({ issuerUrl, webhooks }).webhooks;
}
