import { SECOND_MS } from "../shared/durations.ts";
import type { LimitUnknown } from "./types.ts";

/** A caller waits this long in all for somebody else's refresh before it is told that the limit is unknown. */
export const PENDING_WAIT_MS_MAX = 2 * SECOND_MS;

/** A refresh that keeps asking for another refresh is a fault; three rounds is past any honest case. */
const REFRESHES_MAX = 3;

/** The two answers of admit and extend that are not for the caller but for this loop. */
export type RefreshAnswer =
  | { readonly kind: "refresh_needed"; readonly refreshLease: string }
  | { readonly kind: "refresh_pending"; readonly retryAfterMs: number };

export interface AdmissionPorts<Answer> {
  /** One try of the admission or extension. Safe to repeat: the first two answers hold nothing. */
  readonly attempt: () => Promise<Answer | RefreshAnswer>;
  readonly refresh: (refreshLease: string) => Promise<unknown>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly nowMs: () => number;
}

/**
 * Runs an admission to a decision. The transaction never waits for the provider, so its caller does: it refreshes
 * when it was given the refresh lease, and waits a bounded while when another caller has it. A refresh that fails is
 * not reported here; the next try answers with what is known then.
 */
export async function runAdmission<Answer extends { readonly kind: string }>(
  ports: AdmissionPorts<Answer>,
): Promise<Answer | { readonly kind: "refused"; readonly refusal: LimitUnknown }> {
  const startedAtMs = ports.nowMs();
  let refreshes = 0;
  for (;;) {
    const answer = await ports.attempt();
    if (isRefreshNeeded(answer)) {
      if (refreshes === REFRESHES_MAX) return limitUnknown(SECOND_MS);
      refreshes += 1;
      await ports.refresh(answer.refreshLease);
    } else if (isRefreshPending(answer)) {
      const leftMs = startedAtMs + PENDING_WAIT_MS_MAX - ports.nowMs();
      if (leftMs <= 0) return limitUnknown(SECOND_MS);
      await ports.sleep(Math.min(leftMs, Math.max(1, answer.retryAfterMs)));
    } else {
      return answer;
    }
  }
}

function limitUnknown(retryAfterMs: number) {
  return { kind: "refused", refusal: { code: "limit_unknown", retryAfterMs } } as const;
}

function isRefreshNeeded(answer: {
  kind: string;
}): answer is Extract<RefreshAnswer, { kind: "refresh_needed" }> {
  return answer.kind === "refresh_needed";
}

function isRefreshPending(answer: {
  kind: string;
}): answer is Extract<RefreshAnswer, { kind: "refresh_pending" }> {
  return answer.kind === "refresh_pending";
}
