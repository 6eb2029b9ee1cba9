import { SECOND_MS } from "../shared/durations.ts";
import type { LimitUnknown } from "./types.ts";

/**
 * A caller waits this long in all for a limit to be read, by itself or by another caller. Then it is answered with what
 * is known: the rest of the two seconds in which every caller gets its decision is for asking and answering.
 */
export const LIMIT_WAIT_MS_MAX = 1_500;

/** A refresh that keeps asking for another refresh is a fault; three rounds is past any honest case. */
const REFRESHES_MAX = 3;

/** The two answers of admit and extend that are not for the caller but for this loop. */
export type RefreshAnswer =
  | { readonly kind: "refresh_needed"; readonly refreshLease: string }
  | { readonly kind: "refresh_pending"; readonly retryAfterMs: number };

export interface AdmissionPorts<Answer> {
  /** One try of the admission or extension. Safe to repeat: the first two answers hold nothing. */
  readonly attempt: () => Promise<Answer | RefreshAnswer>;
  /** Reads the limit and has it stored. May outlast the admission, which by then has no use for its failure. */
  readonly refresh: (refreshLease: string) => Promise<unknown>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly nowMs: () => number;
}

/**
 * Runs an admission to a decision. The transaction never waits for the provider, so its caller does: it refreshes
 * when it was given the refresh lease, and waits when another caller has it; in both cases for a bounded while. A
 * refresh that takes longer goes on, and its result is stored when it comes: the next try finds the lease taken and is
 * decided with the last limit, or told that none is known. Nor is a refresh that fails reported here.
 */
export async function runAdmission<Answer extends { readonly kind: string }>(
  ports: AdmissionPorts<Answer>,
): Promise<Answer | { readonly kind: "refused"; readonly refusal: LimitUnknown }> {
  const startedAtMs = ports.nowMs();
  let refreshes = 0;
  for (;;) {
    const answer = await ports.attempt();
    const isNeeded = isRefreshNeeded(answer);
    if (!isNeeded && !isRefreshPending(answer)) return answer;
    const leftMs = startedAtMs + LIMIT_WAIT_MS_MAX - ports.nowMs();
    if (isNeeded) {
      if (refreshes === REFRESHES_MAX) return limitUnknown(SECOND_MS);
      refreshes += 1;
      // Also without time left: nobody else may use the lease, and those who come next want the limit.
      await Promise.race([ports.refresh(answer.refreshLease), ports.sleep(Math.max(0, leftMs))]);
    } else {
      if (leftMs <= 0) return limitUnknown(SECOND_MS);
      await ports.sleep(Math.min(leftMs, Math.max(1, answer.retryAfterMs)));
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
