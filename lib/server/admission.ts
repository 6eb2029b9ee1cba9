import { limits } from "./convex-functions.ts";
import type { CallerBackend } from "./api/route.ts";
import type { ServerDeps } from "./deps.ts";

/** Longest a caller waits for another caller's read of the limit. Rule source: the limit cache of the design. */
const REFRESH_WAIT_MAX_MS = 2000;

interface RefreshNeeded {
  readonly kind: "refresh_needed";
  readonly refreshLease: string;
}
interface RefreshPending {
  readonly kind: "refresh_pending";
  readonly retryAfterMs: number;
}
interface LimitUnknown {
  readonly kind: "refused";
  readonly refusal: { readonly code: "limit_unknown"; readonly retryAfterMs: number };
}

/**
 * Asks the gate and, when it needs a fresh limit, reads the limit or waits for the caller that does. Answers
 * `limit_unknown` when no limit is there within two seconds. The happy path is one call.
 */
export async function admitWithRefresh<T extends { readonly kind: string }>(
  ask: () => Promise<T | RefreshNeeded | RefreshPending>,
  backend: CallerBackend,
  deps: ServerDeps,
): Promise<Exclude<T, RefreshNeeded | RefreshPending> | LimitUnknown> {
  const deadlineMs = deps.nowMs() + REFRESH_WAIT_MAX_MS;
  for (;;) {
    const answer = await ask();
    const leftMs = deadlineMs - deps.nowMs();
    if (isRefreshNeeded(answer)) {
      if (leftMs <= 0) return limitUnknown(1000);
      await backend.action(limits.refresh, { refreshLease: answer.refreshLease });
    } else if (isRefreshPending(answer)) {
      if (leftMs <= 0) return limitUnknown(answer.retryAfterMs);
      await deps.sleep(Math.min(answer.retryAfterMs, leftMs));
    } else {
      return answer as Exclude<T, RefreshNeeded | RefreshPending>;
    }
  }
}

const isRefreshNeeded = (answer: { kind: string }): answer is RefreshNeeded =>
  answer.kind === "refresh_needed";
const isRefreshPending = (answer: { kind: string }): answer is RefreshPending =>
  answer.kind === "refresh_pending";
const limitUnknown = (retryAfterMs: number): LimitUnknown => ({
  kind: "refused",
  refusal: { code: "limit_unknown", retryAfterMs },
});
