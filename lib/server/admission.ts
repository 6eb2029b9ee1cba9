import { runAdmission, type RefreshAnswer } from "../gate/admission-loop.ts";
import type { LimitUnknown } from "../gate/types.ts";
import type { CallerBackend } from "./api/route.ts";
import { BackendError } from "./convex.ts";
import { convexApi } from "./convex-functions.ts";
import type { ServerDeps } from "./deps.ts";

/** Runs an admission or extension to a decision, reading the limit when the gate asks for it. One call when it does not. */
export async function admitWithRefresh<Answer extends { readonly kind: string }>(
  attempt: () => Promise<Answer>,
  backend: CallerBackend,
  deps: ServerDeps,
): Promise<Exclude<Answer, RefreshAnswer> | { readonly kind: "refused"; readonly refusal: LimitUnknown }> {
  return await runAdmission<Exclude<Answer, RefreshAnswer>>({
    attempt: attempt as () => Promise<Exclude<Answer, RefreshAnswer> | RefreshAnswer>,
    refresh: (refreshLease) => refresh(refreshLease, backend, deps),
    sleep: deps.sleep,
    nowMs: deps.nowMs,
  });
}

/**
 * A refresh that breaks is not the end: the gate decides again, with the limit that it knows. Every failure is logged
 * here, because the admission may have been answered by then.
 */
async function refresh(refreshLease: string, backend: CallerBackend, deps: ServerDeps): Promise<void> {
  try {
    await backend.action(convexApi.limits.refresh, { refreshLease });
  } catch (error) {
    const fault = error instanceof BackendError ? error.fault : "unexpected";
    const message = error instanceof Error ? error.message : String(error);
    deps.log({ event: "limit_refresh_failed", fault, message });
    if (!(error instanceof BackendError)) throw error;
  }
}
