import type { ManagementApi } from "./api.ts";
import type { Failure } from "./failure.ts";
import { readPages, tooLong } from "./paging.ts";
import { webhooksAnswer } from "./schemas.ts";

export const WEBHOOKS_PATH = "/api/v1/webhooks";

/** An endpoint that Kinde delivers events to. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  /** Null where the answer does not say. Kinde disables an endpoint that fails for 72 hours (facts §4.1). */
  readonly isDisabled: boolean | null;
  /** What it asks for; null where the answer does not say. */
  readonly eventTypes: readonly string[] | null;
}

export interface WebhooksRead {
  readonly kind: "read";
  readonly webhooks: readonly WebhookEndpoint[];
}

/**
 * The webhook endpoints of the tenant, all pages. Needs the scope `read:webhooks`, which is no part of the ones that
 * must be there.
 */
export async function readWebhooks(api: ManagementApi): Promise<WebhooksRead | Failure> {
  const answer = await readPages(api, api.startBudget(), {
    path: WEBHOOKS_PATH,
    query: {},
    schema: webhooksAnswer,
    split: (page) => ({ ids: page.webhooks.map(({ id }) => id), hasMore: page.has_more === true, page }),
  });
  if (answer.kind === "failed") return answer;
  if (answer.value.truncated) return tooLong(WEBHOOKS_PATH);
  return { kind: "read", webhooks: answer.value.pages.flatMap(({ webhooks }) => webhooks) };
}
