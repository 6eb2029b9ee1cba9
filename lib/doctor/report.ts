/** What a check of the doctor found, and how it is told. Texts are made of our own words, names and addresses only. */

/** Why a step failed. Stable: `--json` shows them, and scripts match on them. */
export type FaultCode =
  | "variable_missing"
  | "secret_format"
  | "variable_malformed"
  | "host_unknown"
  | "connection_refused"
  | "timeout"
  | "tls"
  | "connection_lost"
  | "redirected"
  | "unexpected_answer"
  | "not_an_issuer"
  | "wrong_issuer"
  | "no_keys"
  | "client_refused"
  | "sign_in_refused"
  | "audience_missing"
  | "scope_missing"
  | "webhook_missing"
  | "webhook_elsewhere"
  | "webhook_disabled"
  | "webhook_types_missing"
  | "plan_unknown"
  | "feature_missing"
  | "functions_missing"
  | "server_secret_refused"
  | "operator_key_refused"
  | "auth_issuer_differs"
  | "auth_audience_differs"
  | "issuer_unreachable_for_convex"
  | "site_down";

export type Finding =
  | { readonly kind: "ok"; readonly detail: string }
  | {
      readonly kind: "failed";
      readonly fault: FaultCode;
      readonly detail: string;
      /** What to do about it. */
      readonly next: string;
    }
  | { readonly kind: "skipped"; readonly detail: string; readonly next?: string };

/** A finding with the name of what was looked at: "issuer", or the variable itself. */
export type Step = { readonly name: string } & Finding;

export const ok = (detail: string): Finding => ({ kind: "ok", detail });

export const failed = (fault: FaultCode, detail: string, next: string): Finding => ({
  kind: "failed",
  fault,
  detail,
  next,
});

/** `because` completes "skipped, because …". */
export const skipped = (because: string, next?: string): Finding => ({
  kind: "skipped",
  detail: `because ${because}`,
  ...(next === undefined ? {} : { next }),
});

const MARKS: Readonly<Record<Finding["kind"], string>> = { ok: "ok", failed: "failed", skipped: "skipped" };
const MARK_WIDTH = 8;
const NAME_WIDTH = 27;

/** One line for the step, and one below it that says what to do next. */
export function stepText(step: Step): string {
  const line = `${MARKS[step.kind].padEnd(MARK_WIDTH)} ${step.name.padEnd(NAME_WIDTH)} ${step.detail}`;
  const next = step.kind === "ok" ? undefined : step.next;
  return next === undefined ? line : `${line}\n${" ".repeat(MARK_WIDTH + 1)}next: ${next}`;
}

export interface Summary {
  readonly ok: number;
  readonly failed: number;
  readonly skipped: number;
}

export function summarize(steps: readonly Step[]): Summary {
  const count = (kind: Finding["kind"]) => steps.filter((step) => step.kind === kind).length;
  return { ok: count("ok"), failed: count("failed"), skipped: count("skipped") };
}
