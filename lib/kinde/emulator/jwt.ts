import { z } from "zod";
import type { SigningKeys } from "./keys.ts";

export type Claims = Readonly<Record<string, unknown>>;

const header = z.object({ alg: z.literal("RS256"), kid: z.string() });
const claims = z.looseObject({ iss: z.string(), exp: z.int(), jti: z.string() });

export type VerifiedClaims = z.output<typeof claims>;

/** Signs with the current key. Another `kid` than its own is for tokens that must not verify. */
export function signJwt(keys: SigningKeys, payload: Claims, kid = keys.currentKid()): string {
  const input = `${encode({ alg: "RS256", kid, typ: "JWT" })}.${encode(payload)}`;
  return `${input}.${keys.sign(input).signature.toString("base64url")}`;
}

/** The claims of a token of this issuer that has not ended, or null. There is no leeway. */
export function verifyJwt(
  keys: SigningKeys,
  token: string,
  expected: { readonly issuer: string; readonly nowMs: number },
): VerifiedClaims | null {
  const [head, body, signature, rest] = token.split(".");
  if (head === undefined || body === undefined || signature === undefined || rest !== undefined) return null;
  const parsedHead = header.safeParse(decode(head));
  const parsedBody = claims.safeParse(decode(body));
  if (!parsedHead.success || !parsedBody.success) return null;
  const { iss, exp } = parsedBody.data;
  if (iss !== expected.issuer || exp * 1000 <= expected.nowMs) return null;
  const isSigned = keys.verifies(parsedHead.data.kid, `${head}.${body}`, Buffer.from(signature, "base64url"));
  return isSigned ? parsedBody.data : null;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decode(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
