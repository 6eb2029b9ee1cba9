/**
 * Codes, refresh tokens and what they stand for. Only hashes of codes and refresh tokens are stored, and of an access
 * token its claims: RS256 gives the same signature again, so "the same access token" is signed anew.
 */
import type { AuthRequest } from "./auth-request.ts";
import { accessClaims, idClaims, type TokenFrame } from "./claims.ts";
import type { Emulator } from "./context.ts";
import { hashOf, secretId, timedId } from "./ids.ts";
import { signJwt, type Claims } from "./jwt.ts";
import { DAY_MS, MINUTE_MS } from "../../shared/durations.ts";
import { must } from "../../shared/assert.ts";
import { findUser, type User } from "./users.ts";

const CODE_LIFE_MS = 5 * MINUTE_MS;
const REFRESH_LIFE_MS = 15 * DAY_MS;
/** The SDK renews a token with less life than this, so a refresh this late has to bring a new one. */
const RENEW_BELOW_SECONDS = 20;

/** What a user allowed a client. */
export interface Grant {
  readonly clientId: string;
  readonly userId: string;
  readonly scope: readonly string[];
  readonly audience: readonly string[];
  readonly nonce: string | null;
  readonly authTimeSeconds: number;
}

interface CodeGrant extends Grant {
  readonly redirectUri: string;
  readonly codeChallenge: string | null;
}

export interface UserTokens {
  readonly access_token: string;
  readonly id_token: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly token_type: "Bearer";
}

export function issueCode(emulator: Emulator, request: AuthRequest, user: User): string {
  const nowMs = emulator.wallNowMs();
  const code = secretId("code");
  const grant: CodeGrant = {
    clientId: emulator.config.clientId,
    userId: user.id,
    scope: request.scope,
    audience: request.audience,
    nonce: request.nonce,
    authTimeSeconds: Math.floor(nowMs / 1000),
    redirectUri: request.redirectUri,
    codeChallenge: request.codeChallenge,
  };
  emulator.storage.run("DELETE FROM codes WHERE expires_at_ms <= ?", nowMs);
  emulator.storage.run(
    "INSERT INTO codes (hash, grant_json, expires_at_ms) VALUES (?, ?, ?)",
    hashOf(code),
    JSON.stringify(grant),
    nowMs + CODE_LIFE_MS,
  );
  return code;
}

export type TakenCode = { kind: "taken"; grant: Grant } | { kind: "refused"; reason: string };

/** Uses a code up. It works once, for the client and redirect_uri it was made for. */
export function takeCode(
  { storage, wallNowMs }: Emulator,
  code: string,
  shown: { readonly clientId: string; readonly redirectUri: string; readonly codeVerifier: string | null },
): TakenCode {
  const row = storage.get<{ grant_json: string; expires_at_ms: number; used: number }>(
    "SELECT grant_json, expires_at_ms, used FROM codes WHERE hash = ?",
    hashOf(code),
  );
  const refused = (reason: string): TakenCode => ({ kind: "refused", reason });
  if (row === null || row.expires_at_ms <= wallNowMs()) return refused("The code is unknown or has expired.");
  if (row.used !== 0) return refused("The code was used before.");
  const { redirectUri, codeChallenge, ...grant } = JSON.parse(row.grant_json) as CodeGrant;
  if (grant.clientId !== shown.clientId) return refused("The code was made for another client.");
  if (redirectUri !== shown.redirectUri) return refused("redirect_uri is not the one the code was made for.");
  if (codeChallenge !== null && challengeOf(shown.codeVerifier ?? "") !== codeChallenge) {
    return refused("code_verifier does not match.");
  }
  storage.run("UPDATE codes SET used = 1 WHERE hash = ?", hashOf(code));
  return { kind: "taken", grant };
}

/** Tokens for a grant just made. Without the scope `offline` there is no refresh token. */
export function startSession(emulator: Emulator, grant: Grant): UserTokens {
  const access = makeAccess(emulator, grant);
  const tokens = makeTokens(emulator, grant, access);
  if (!grant.scope.includes("offline")) return tokens;
  const sessionId = timedId("session", emulator.wallNowMs());
  emulator.storage.run(
    "INSERT INTO sessions (id, grant_json, access_claims) VALUES (?, ?, ?)",
    sessionId,
    JSON.stringify(grant),
    JSON.stringify(access),
  );
  return { ...tokens, refresh_token: issueRefreshToken(emulator, sessionId) };
}

export type Refreshed = { kind: "refreshed"; tokens: UserTokens } | { kind: "refused"; reason: string };

/** Replaces a refresh token. The old one goes on working for the overlap, so that parallel requests all succeed. */
export function refreshSession(emulator: Emulator, refreshToken: string, clientId: string): Refreshed {
  const { storage, config } = emulator;
  const nowMs = emulator.wallNowMs();
  const row = storage.get<{
    session_id: string;
    expires_at_ms: number;
    replaced_at_ms: number | null;
    grant_json: string;
    access_claims: string;
    revoked: number;
  }>(
    `SELECT session_id, expires_at_ms, replaced_at_ms, grant_json, access_claims, revoked
     FROM refresh_tokens JOIN sessions ON sessions.id = session_id WHERE hash = ?`,
    hashOf(refreshToken),
  );
  const refused = (reason: string): Refreshed => ({ kind: "refused", reason });
  if (row === null || row.revoked !== 0 || row.expires_at_ms <= nowMs) {
    return refused("The refresh token is unknown, revoked or has expired.");
  }
  if (row.replaced_at_ms !== null && nowMs >= row.replaced_at_ms + config.refreshOverlapSeconds * 1000) {
    return refused("The refresh token was used before.");
  }
  const grant = JSON.parse(row.grant_json) as Grant;
  if (grant.clientId !== clientId) return refused("The refresh token was made for another client.");
  if (row.replaced_at_ms === null) {
    storage.run("UPDATE refresh_tokens SET replaced_at_ms = ? WHERE hash = ?", nowMs, hashOf(refreshToken));
  }
  const last = JSON.parse(row.access_claims) as Claims;
  const isReused =
    config.refreshAnswer === "same" && Number(last["exp"]) - nowMs / 1000 >= RENEW_BELOW_SECONDS;
  const access = isReused ? last : makeAccess(emulator, grant);
  if (!isReused) {
    storage.run("UPDATE sessions SET access_claims = ? WHERE id = ?", JSON.stringify(access), row.session_id);
  }
  const tokens = makeTokens(emulator, grant, access);
  return {
    kind: "refreshed",
    tokens: { ...tokens, refresh_token: issueRefreshToken(emulator, row.session_id) },
  };
}

/** Ends the session of a refresh token. False when there is none. */
export function revokeRefreshToken({ storage }: Emulator, refreshToken: string): boolean {
  const sql =
    "UPDATE sessions SET revoked = 1 WHERE id = (SELECT session_id FROM refresh_tokens WHERE hash = ?)";
  return storage.run(sql, hashOf(refreshToken)) > 0;
}

/** Whether a refresh would be let through now. */
export function isLiveRefreshToken(emulator: Emulator, refreshToken: string): boolean {
  const sql = `SELECT 1 FROM refresh_tokens JOIN sessions ON sessions.id = session_id
    WHERE hash = ? AND revoked = 0 AND expires_at_ms > ? AND coalesce(replaced_at_ms, ?) > ?`;
  const nowMs = emulator.wallNowMs();
  const overlapMs = emulator.config.refreshOverlapSeconds * 1000;
  return emulator.storage.get(sql, hashOf(refreshToken), nowMs, nowMs + 1, nowMs - overlapMs) !== null;
}

function issueRefreshToken({ storage, wallNowMs }: Emulator, sessionId: string): string {
  const token = secretId("rt");
  storage.run("DELETE FROM refresh_tokens WHERE expires_at_ms <= ?", wallNowMs());
  storage.run(
    "INSERT INTO refresh_tokens (hash, session_id, expires_at_ms) VALUES (?, ?, ?)",
    hashOf(token),
    sessionId,
    wallNowMs() + REFRESH_LIFE_MS,
  );
  return token;
}

function makeAccess(emulator: Emulator, grant: Grant): Claims {
  return accessClaims(frameOf(emulator, grant.clientId), userOf(emulator, grant), grant);
}

/** `expires_in` is what is left of an access token that is handed out again; the ID token is always new. */
function makeTokens(emulator: Emulator, grant: Grant, access: Claims): UserTokens {
  const accessToken = signJwt(emulator.keys, access);
  const frame = frameOf(emulator, grant.clientId);
  const id = idClaims(frame, userOf(emulator, grant), { ...grant, accessToken });
  return {
    access_token: accessToken,
    id_token: signJwt(emulator.keys, id),
    expires_in: Number(access["exp"]) - frame.nowSeconds,
    scope: grant.scope.join(" "),
    token_type: "Bearer",
  };
}

export function frameOf({ issuer, config, wallNowMs }: Emulator, clientId: string): TokenFrame {
  const nowMs = wallNowMs();
  return {
    issuer,
    clientId,
    nowSeconds: Math.floor(nowMs / 1000),
    lifeSeconds: config.tokenLifeSeconds,
    jti: timedId("jti", nowMs).slice("jti_".length),
  };
}

function userOf(emulator: Emulator, grant: Grant): User {
  return must(findUser(emulator, grant.userId), `no user ${grant.userId}`);
}

function challengeOf(verifier: string): string {
  return Buffer.from(hashOf(verifier), "hex").toString("base64url");
}
