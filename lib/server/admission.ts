import { runAdmission, type RefreshAnswer } from "../gate/admission-loop.ts";
import { REFRESH_LEASE_MS } from "../gate/limit-cache.ts";
import type { LimitUnknown } from "../gate/types.ts";
import type { CallerBackend } from "./api/route.ts";
import { BackendError } from "./convex.ts";
import { convexApi } from "./convex-functions.ts";
import type { ServerDeps } from "./deps.ts";
import { after, within } from "./redirect/timers.ts";

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

/** A refresh that breaks, or outlasts its lease, is not the end: the gate decides again, with the limit that it knows. */
async function refresh(refreshLease: string, backend: CallerBackend, deps: ServerDeps): Promise<void> {
  try {
    const reading = backend.action(convexApi.limits.refresh, { refreshLease });
    if ((await within(reading, REFRESH_LEASE_MS, after)) !== "late") return;
    deps.log({ event: "limit_refresh_late", message: `no answer in ${REFRESH_LEASE_MS} ms` });
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    deps.log({ event: "limit_refresh_failed", fault: error.fault, message: error.message });
  }
}
