import { z } from "zod";
import { CONVEX_AUDIENCE } from "../kinde/environment.ts";
import { type Answered, hostOf, type Probe, unreachable } from "./probe.ts";
import { failed, type Finding, ok } from "./report.ts";

/** The Convex deployment: whether it is there, has our functions, takes our secrets and the tenant's tokens. */

const DEPLOY_NEXT = "run npx convex deploy in the project folder, with the deploy key of that deployment";

export async function checkDeployment(probe: Probe, convexUrl: string): Promise<Finding> {
  const url = `${convexUrl}/version`;
  const answer = await probe({ url });
  if (answer.kind === "no_answer") return unreachable("the Convex deployment", url, answer);
  if (answer.status === 200) return ok(convexUrl);
  const detail = `${convexUrl} answered ${answer.status} where a Convex deployment says its version`;
  return failed(
    "unexpected_answer",
    detail,
    "CONVEX_URL is the deployment URL that npx convex deploy prints",
  );
}

const settingsAnswer = z.object({
  issuerUrl: z.string().nullable(),
  siteUrl: z.string().nullable(),
  missing: z.array(z.string()),
});
export type DeploymentSettings = z.output<typeof settingsAnswer>;

export interface SettingsAnswer {
  readonly finding: Finding;
  readonly settings: DeploymentSettings | null;
}

export async function checkServerSecret(
  probe: Probe,
  convexUrl: string,
  serverSecret: string,
): Promise<SettingsAnswer> {
  const answer = await query(probe, convexUrl, "doctor:settings", { serverSecret });
  return answer.kind === "no_answer"
    ? { finding: unreachable("the Convex deployment", convexUrl, answer), settings: null }
    : judgeServerSecret(answer);
}

export function judgeServerSecret(answer: Answered): SettingsAnswer {
  const outcome = outcomeOf(answer);
  const refuse = (finding: Finding): SettingsAnswer => ({ finding, settings: null });
  if (outcome.kind === "refused" && outcome.code === "server_refused") {
    const next =
      "set HOLDFAST_SERVER_SECRETS on the deployment to the secret of this server: " +
      'npx convex env set HOLDFAST_SERVER_SECRETS "$(cat .holdfast/server-secret)"';
    return refuse(
      failed("server_secret_refused", "the deployment does not accept the secret of this server", next),
    );
  }
  if (outcome.kind === "failed" && outcome.isMissing) {
    return refuse(
      failed("functions_missing", "the deployment does not have the functions of this version", DEPLOY_NEXT),
    );
  }
  const parsed = outcome.kind === "value" ? settingsAnswer.safeParse(outcome.value) : null;
  if (parsed?.success !== true) {
    const detail = `the deployment answered ${answer.status} without a result`;
    return refuse(failed("unexpected_answer", detail, "look at the log of the deployment in its dashboard"));
  }
  return { finding: ok("the deployment accepts it"), settings: parsed.data };
}

/** What the deployment is told beside what this machine is told. */
export function judgeSettings(settings: DeploymentSettings, issuerUrl: string): Finding {
  const { missing } = settings;
  if (missing.length > 0) {
    const next = missing.map((name) => `npx convex env set ${name} …`).join("; ");
    return failed("variable_missing", `the deployment lacks ${missing.join(", ")}`, next);
  }
  if (settings.issuerUrl !== issuerUrl) {
    return failed(
      "auth_issuer_differs",
      `the deployment reads limits from ${hostOf(settings.issuerUrl ?? "")}, the server signs people in at ${issuerUrl}`,
      `npx convex env set KINDE_ISSUER_URL ${issuerUrl}`,
    );
  }
  return ok("all set on the deployment");
}

export async function checkOperatorKey(
  probe: Probe,
  convexUrl: string,
  secrets: { readonly serverSecret: string; readonly keyHash: string },
): Promise<Finding> {
  const answer = await query(probe, convexUrl, "health:forOperators", secrets);
  if (answer.kind === "no_answer") return unreachable("the Convex deployment", convexUrl, answer);
  const outcome = outcomeOf(answer);
  if (outcome.kind === "value") return ok("the deployment accepts it");
  if (outcome.kind === "refused" && outcome.code === "forbidden") {
    return failed(
      "operator_key_refused",
      "the deployment does not accept the operator key of this machine",
      'npx convex env set HOLDFAST_OPERATOR_KEY_HASH to the SHA-256 of the key in hex: printf %s "$(cat .holdfast/operator-key)" | sha256sum',
    );
  }
  const detail = `the deployment answered ${answer.status} without a result`;
  return failed("unexpected_answer", detail, "look at the log of the deployment in its dashboard");
}

/**
 * Shows the deployment a token that nobody signed. Which reason it gives for its refusal tells whether it would take
 * tokens of this issuer and audience: it looks for a provider first, and at the signature after.
 */
export async function checkAuthConfig(
  probe: Probe,
  convexUrl: string,
  issuerUrl: string,
  nowMs: number,
): Promise<Finding> {
  const headers = { authorization: `Bearer ${unsignedToken(issuerUrl, nowMs)}` };
  const answer = await query(probe, convexUrl, "health:get", { serverSecret: "" }, headers);
  return answer.kind === "no_answer"
    ? unreachable("the Convex deployment", convexUrl, answer)
    : judgeAuthConfig(issuerUrl, answer);
}

export function judgeAuthConfig(issuerUrl: string, { status, json }: Answered): Finding {
  const { code, message } = failureOf(json);
  if (status === 401 && (code === "NoAuthProvider" || message.startsWith("No auth provider found"))) {
    const issuers = [...message.matchAll(/(?:domain|issuer)=([^,\s)\]]+)/g)].map((match) => match[1] ?? "");
    if (issuers.includes(issuerUrl)) {
      const detail = `the auth config of the deployment does not take tokens for the audience "${CONVEX_AUDIENCE}"`;
      return failed("auth_audience_differs", detail, DEPLOY_NEXT);
    }
    const others = issuers.length === 0 ? "no issuer" : issuers.map(hostOf).join(", ");
    return failed(
      "auth_issuer_differs",
      `the auth config of the deployment takes tokens of ${others}, and not of ${issuerUrl}`,
      `npx convex env set KINDE_ISSUER_URL ${issuerUrl}, then npx convex deploy`,
    );
  }
  if (code === "AuthProviderDiscoveryFailed" || /discovery/i.test(message)) {
    return failed(
      "issuer_unreachable_for_convex",
      "the deployment takes tokens of this issuer, but cannot read its keys",
      "a deployment on another machine needs an issuer that the internet reaches, not one on this machine",
    );
  }
  if (status === 401) return ok(`takes tokens of ${issuerUrl} for "${CONVEX_AUDIENCE}"`);
  const detail = `the deployment answered ${status} to a token that nobody signed, where 401 is right`;
  return failed(
    "unexpected_answer",
    detail,
    "look for a proxy in front of the deployment that changes requests",
  );
}

function unsignedToken(issuerUrl: string, nowMs: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const nowSeconds = Math.floor(nowMs / 1000);
  const claims = {
    iss: issuerUrl,
    aud: [CONVEX_AUDIENCE],
    sub: "doctor",
    iat: nowSeconds,
    exp: nowSeconds + 60,
  };
  return `${part({ alg: "RS256", typ: "JWT", kid: "doctor" })}.${part(claims)}.${part({ signature: "none" })}`;
}

function query(
  probe: Probe,
  convexUrl: string,
  path: string,
  args: object,
  headers: Record<string, string> = {},
) {
  const body = JSON.stringify({ path, format: "convex_encoded_json", args: [args] });
  const url = `${convexUrl}/api/query`;
  return probe({ method: "POST", url, headers: { "content-type": "application/json", ...headers }, body });
}

type Outcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "failed"; readonly isMissing: boolean };

const answerSchema = z.union([
  z.object({ status: z.literal("success"), value: z.unknown() }),
  z.object({
    status: z.literal("error"),
    errorMessage: z.string(),
    errorData: z.object({ code: z.string() }).optional().catch(undefined),
  }),
]);

function outcomeOf({ json }: Answered): Outcome {
  const parsed = answerSchema.safeParse(json);
  if (!parsed.success) return { kind: "failed", isMissing: false };
  if (parsed.data.status === "success") return { kind: "value", value: parsed.data.value };
  const { errorData, errorMessage } = parsed.data;
  if (errorData !== undefined) return { kind: "refused", code: errorData.code };
  return { kind: "failed", isMissing: errorMessage.includes("Could not find public function") };
}

function failureOf(json: unknown): { code: string; message: string } {
  const parsed = z.object({ code: z.string(), message: z.string() }).safeParse(json);
  return parsed.success ? parsed.data : { code: "", message: "" };
}
