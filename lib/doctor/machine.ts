import { readErrorCode } from "../kinde/schemas.ts";
import { type Answered, type Probe, unreachable } from "./probe.ts";
import { failed, type Finding, ok, skipped } from "./report.ts";

export interface MachineApplication {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Of the management API. */
  readonly audience: string;
}

/** What Holdfast asks of the machine application; `read:webhooks` is for the alarm and may be left out. */
export const NEEDED_SCOPES = [
  "read:users",
  "read:billing_entitlements",
  "read:billing_agreements",
  "create:meter_usage",
  "read:meter_usage",
] as const;

export type TokenAnswer = { readonly finding: Finding; readonly accessToken: string | null };

/** A token as the product asks for it. */
export async function checkMachineToken(probe: Probe, app: MachineApplication): Promise<TokenAnswer> {
  const answer = await askForToken(probe, app, null);
  if (answer.kind === "no_answer") {
    return { finding: unreachable("the token endpoint of", app.issuerUrl, answer), accessToken: null };
  }
  return judgeMachineToken(app.audience, answer);
}

export function judgeMachineToken(audience: string, { status, json }: Answered): TokenAnswer {
  const refuse = (finding: Finding): TokenAnswer => ({ finding, accessToken: null });
  const code = readErrorCode(json);
  if (status === 401 || code === "invalid_client") {
    const next = "copy both again from one and the same machine-to-machine application at Kinde";
    return refuse(failed("client_refused", "the provider refuses KINDE_M2M_CLIENT_ID with its secret", next));
  }
  if (code === "unauthorized_client" || code === "invalid_target" || code === "invalid_audience") {
    return refuse(
      audienceMissing(audience, "the machine application is not authorized for the management API"),
    );
  }
  const accessToken = tokenOf(json);
  if (status !== 200 || accessToken === null) {
    const detail = `the token endpoint answered ${status}${code === null ? "" : ` (${code})`}`;
    return refuse(
      failed("unexpected_answer", detail, "run the doctor again; if it stays, ask Kinde about that answer"),
    );
  }
  const audiences = audiencesOf(accessToken);
  if (!audiences.some((name) => name === audience || name === `${audience}/v1`)) {
    return refuse(audienceMissing(audience, "the token does not name the management API as its audience"));
  }
  return { finding: ok(`a token for ${audience}`), accessToken };
}

function audienceMissing(audience: string, why: string): Finding {
  return failed(
    "audience_missing",
    `${why}; asked for was ${audience}`,
    "at Kinde, in the machine-to-machine application under APIs: authorize the Kinde Management API; " +
      "with a custom domain, set KINDE_API_AUDIENCE to https://<tenant>.kinde.com/api",
  );
}

/** Whether the machine has every scope: all at once, and one by one only to name what is missing. */
export async function checkScopes(probe: Probe, app: MachineApplication): Promise<Finding> {
  const all = await askForToken(probe, app, NEEDED_SCOPES.join(" "));
  if (all.kind === "no_answer") return unreachable("the token endpoint of", app.issuerUrl, all);
  const accessToken = tokenOf(all.json);
  if (accessToken !== null) return judgeGranted(grantedScopes(all.json, accessToken));
  if (readErrorCode(all.json) !== "invalid_scope") {
    const detail = `the token endpoint answered ${all.status} when asked for the scopes`;
    return failed(
      "unexpected_answer",
      detail,
      "run the doctor again; if it stays, ask Kinde about that answer",
    );
  }
  const missing: string[] = [];
  for (const scope of NEEDED_SCOPES) {
    // One after the other: Kinde sheds what comes at the same time.
    // oxlint-disable-next-line no-await-in-loop
    const one = await askForToken(probe, app, scope);
    if (one.kind === "answered" && readErrorCode(one.json) === "invalid_scope") missing.push(scope);
  }
  return scopesMissing(missing);
}

/** A provider may answer with a token of fewer scopes instead of an error. */
export function judgeGranted(granted: readonly string[]): Finding {
  if (granted.length === 0) {
    return skipped("the token does not say which scopes it has; the lines below show what it may read");
  }
  const missing = NEEDED_SCOPES.filter((scope) => !granted.includes(scope));
  return missing.length === 0 ? ok(NEEDED_SCOPES.join(", ")) : scopesMissing(missing);
}

export function scopesMissing(scopes: readonly string[]): Finding {
  const list = scopes.length === 0 ? "one of the scopes" : scopes.join(", ");
  return failed(
    "scope_missing",
    `the machine application lacks ${list}`,
    `at Kinde, in the machine-to-machine application under APIs > Kinde Management API > Manage scopes: switch on ${list}`,
  );
}

function askForToken(probe: Probe, app: MachineApplication, scope: string | null) {
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: app.clientId,
    client_secret: app.clientSecret,
    audience: app.audience,
    ...(scope === null ? {} : { scope }),
  }).toString();
  const headers = { accept: "application/json", "content-type": "application/x-www-form-urlencoded" };
  return probe({ method: "POST", url: `${app.issuerUrl}/oauth2/token`, headers, body });
}

function tokenOf(json: unknown): string | null {
  if (typeof json !== "object" || json === null || !("access_token" in json)) return null;
  return typeof json.access_token === "string" ? json.access_token : null;
}

/** What the answer says it grants, and the token in it: a list, or words in one text. */
function grantedScopes(json: unknown, token: string): string[] {
  const { scp, scope } = claimsOf(token);
  const answered = typeof json === "object" && json !== null && "scope" in json ? json.scope : undefined;
  const stated = [scp, scope, answered].map((value) =>
    [value].flat().flatMap((word) => (typeof word === "string" ? word.split(/\s+/).filter(Boolean) : [])),
  );
  return stated.find((scopes) => scopes.length > 0) ?? [];
}

function audiencesOf(token: string): string[] {
  return [claimsOf(token)["aud"]].flat().filter((name): name is string => typeof name === "string");
}

/** Read without a check of the signature: it came from the provider itself, and is only looked at. */
function claimsOf(token: string): Record<string, unknown> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    return typeof claims === "object" && claims !== null ? { ...claims } : {};
  } catch {
    return {};
  }
}
