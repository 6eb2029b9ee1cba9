/** What browsers, the SDK, machines and operators send to the emulator. */
import { decodeJwt, type JWTPayload } from "jose";
import { CONTROL_KEY, EMULATOR_ENV, SITE } from "./emulator-server.ts";

export const CALLBACK = `${SITE}/api/auth/kinde_callback`;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON, undefined when it is none. */
  // The tests say which fields they expect, and fail when they are not there.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

export async function send(url: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(url, { redirect: "manual", ...init });
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.status, headers: response.headers, text, json };
}

export function post(url: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  return send(url, { method: "POST", body: new URLSearchParams(fields), headers });
}

/** As the Next.js SDK asks; undefined takes a parameter away. */
export function authUrl(issuer: string, change: Record<string, string | string[] | undefined> = {}): string {
  const query = new URLSearchParams();
  const parameters = {
    client_id: EMULATOR_ENV["KINDE_CLIENT_ID"],
    redirect_uri: CALLBACK,
    response_type: "code",
    scope: "openid profile email offline",
    state: "state-1",
    supports_reauth: "true",
    audience: "convex",
    ...change,
  };
  for (const [name, value] of Object.entries(parameters)) {
    for (const item of [value ?? []].flat()) query.append(name, item);
  }
  return `${issuer}/oauth2/auth?${query}`;
}

const ADA = { new: "1", given_name: "Ada", family_name: "Lovelace", email: "ada@example.com" };

/** Fills in the sign-in page, by default as a new user, and returns the code that the browser takes back. */
export async function signInForCode(
  issuer: string,
  form: Record<string, string> = ADA,
  change: Record<string, string | string[] | undefined> = {},
): Promise<string> {
  const reply = await post(authUrl(issuer, change), form, { origin: issuer });
  if (reply.status !== 302) throw new Error(`no redirect: ${reply.status} ${reply.text}`);
  return new URL(reply.headers.get("location")!).searchParams.get("code")!;
}

const APP_CLIENT = {
  client_id: EMULATOR_ENV["KINDE_CLIENT_ID"]!,
  client_secret: EMULATOR_ENV["KINDE_CLIENT_SECRET"]!,
};

export function exchange(issuer: string, code: string, change: Record<string, string> = {}): Promise<Reply> {
  const fields = { grant_type: "authorization_code", ...APP_CLIENT, code, redirect_uri: CALLBACK, ...change };
  return post(`${issuer}/oauth2/token`, fields);
}

export function refresh(
  issuer: string,
  refreshToken: string,
  change: Record<string, string> = {},
): Promise<Reply> {
  const fields = { grant_type: "refresh_token", ...APP_CLIENT, refresh_token: refreshToken, ...change };
  return post(`${issuer}/oauth2/token`, fields);
}

/** The tokens of a new user. */
export async function signIn(
  issuer: string,
  form?: Record<string, string>,
  change?: Record<string, string | string[] | undefined>,
): Promise<{ access_token: string; id_token: string; refresh_token: string }> {
  const reply = await exchange(issuer, await signInForCode(issuer, form, change));
  if (reply.status !== 200) throw new Error(`no tokens: ${reply.text}`);
  return reply.json;
}

export function machineToken(issuer: string, change: Record<string, string> = {}): Promise<Reply> {
  return post(`${issuer}/oauth2/token`, {
    grant_type: "client_credentials",
    client_id: EMULATOR_ENV["KINDE_M2M_CLIENT_ID"]!,
    client_secret: EMULATOR_ENV["KINDE_M2M_CLIENT_SECRET"]!,
    audience: `${issuer}/api`,
    ...change,
  });
}

/** Calls with one token; a body makes it a POST. */
export type Caller = (path: string, body?: unknown, method?: string) => Promise<Reply>;

export function bearer(issuer: string, token: string): Caller {
  return (path, body, method = body === undefined ? "GET" : "POST") =>
    send(`${issuer}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

export async function machine(issuer: string, scope = ""): Promise<Caller> {
  const reply = await machineToken(issuer, scope === "" ? {} : { scope });
  return bearer(issuer, reply.json.access_token);
}

export function control(issuer: string): Caller {
  return bearer(issuer, CONTROL_KEY);
}

export interface Customer {
  readonly userId: string;
  readonly customerId: string;
  readonly agreementId: string;
}

/** A user made by the control API. */
export async function addCustomer(issuer: string, email: string, planKey?: string): Promise<Customer> {
  const fields = {
    givenName: "Grace",
    familyName: "Hopper",
    email,
    ...(planKey === undefined ? {} : { planKey }),
  };
  const { json } = await control(issuer)("/control/users", fields);
  return { userId: json.user.id, customerId: json.user.customerId, agreementId: json.agreement.id };
}

export function claimsOf(token: string): JWTPayload {
  return decodeJwt(token);
}
