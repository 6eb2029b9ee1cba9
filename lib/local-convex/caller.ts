/**
 * Who makes a request, from its Authorization header: nobody, a user by a token, or the holder of the admin key,
 * who may act as a user (facts §3.7). A bad credential is an error and never turns into an anonymous call.
 */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { RequestError } from "./errors.ts";
import type { Engine } from "./engine.ts";
import { actingIdentity } from "./identity.ts";
import type { Caller } from "./invocation.ts";
import { checkLoopbackOrigin } from "./loopback.ts";
import type { JsonObject } from "./values/json.ts";

/** @throws RequestError 401 for a bad token, 403 for a bad admin key */
export async function callerOf(
  engine: Engine,
  adminKey: string | undefined,
  request: IncomingMessage,
): Promise<Caller> {
  const anonymous = anonymousCaller(request);
  const header = request.headers.authorization;
  if (header === undefined) return anonymous;
  if (header.startsWith("Convex ")) {
    checkLoopbackOrigin(request);
    return { ...anonymous, admin: true, identity: adminIdentity(header.slice("Convex ".length), adminKey) };
  }
  if (!/^bearer /i.test(header)) {
    throw new RequestError(401, "InvalidAuthHeader", "Header must begin with `bearer `");
  }
  const check = await engine.authenticator.verifyToken(header.slice("bearer ".length).trim());
  if (check.kind === "refused") throw new RequestError(401, check.code, check.message);
  return { ...anonymous, identity: check.identity };
}

export function anonymousCaller(request: IncomingMessage): Caller {
  return {
    admin: false,
    identity: null,
    ip: request.socket.remoteAddress ?? null,
    userAgent: request.headers["user-agent"] ?? null,
  };
}

/**
 * Checks `key` or `key:<base64 JSON of identity attributes>`, either one after a deployment type as in
 * `dev:name|key`. @returns the identity acted as, null for the administrator alone
 */
function adminIdentity(given: string, adminKey: string | undefined): JsonObject | null {
  if (isAdminKey(given, adminKey)) return null;
  const colon = given.lastIndexOf(":");
  if (colon === -1 || !isAdminKey(given.slice(0, colon), adminKey)) {
    throw new RequestError(403, "BadAdminKey", "The admin key is not accepted.");
  }
  const identity = actingIdentity(fromBase64Json(given.slice(colon + 1)));
  if (identity === null) {
    throw new RequestError(
      400,
      "BadActingUser",
      "The identity to act as must be base64 of a JSON object with `issuer` and `subject`.",
    );
  }
  return identity;
}

/** Whether `given` is the admin key of this deployment. */
export function isAdminKey(given: string, adminKey: string | undefined): boolean {
  if (adminKey === undefined) return false;
  const withoutType = given.replace(/^[^|:]*:(?=[^|]*\|)/, "");
  return sameText(given, adminKey) || sameText(withoutType, adminKey);
}

function sameText(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function fromBase64Json(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64").toString("utf8"));
  } catch {
    return null;
  }
}
