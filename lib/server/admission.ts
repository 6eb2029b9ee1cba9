import { LIMIT_WAIT_MS_MAX, runAdmission, type RefreshAnswer } from "../gate/admission-loop.ts";
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
    refresh: (refreshLease) =>
      logFailure(() => backend.action(convexApi.limits.refresh, { refreshLease }), deps),
    sleep: deps.sleep,
    nowMs: deps.nowMs,
  });
}

/**
 * Asks what may depend on the limit. Where it does, and no limit is known that may still be used, it is read for a
 * bounded while, and then asked for once more: a question cannot take the refresh lease of an admission.
 */
export async function askWithLimit<Answer>(
  ask: () => Promise<Answer>,
  isLimitUnknown: (answer: Answer) => boolean,
  refresh: () => Promise<unknown>,
  deps: ServerDeps,
): Promise<Answer> {
  const answer = await ask();
  if (!isLimitUnknown(answer)) return answer;
  const reading = logFailure(refresh, deps);
  await Promise.race([reading, deps.sleep(LIMIT_WAIT_MS_MAX)]);
  return await ask();
}

/**
 * A refresh that breaks is not the end: the gate decides again, with the limit that it knows. Every failure is logged
 * here, because the admission may have been answered by then.
 */
async function logFailure(refresh: () => Promise<unknown>, deps: ServerDeps): Promise<void> {
  try {
    await refresh();
  } catch (error) {
    const fault = error instanceof BackendError ? error.fault : "unexpected";
    const message = error instanceof Error ? error.message : String(error);
    deps.log({ event: "limit_refresh_failed", fault, message });
    if (!(error instanceof BackendError)) throw error;
  }
}
