import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";

type Algorithm = "RS256" | "ES256" | "EdDSA";

interface SigningKey {
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

interface SignOptions {
  /** Fields of the token's header that differ from the usual ones; undefined leaves one out. */
  readonly header?: Record<string, unknown>;
  /** Signs with this key instead of the newest one of the issuer. */
  readonly key?: SigningKey;
}

/** An OpenID Connect issuer on loopback: discovery, keys and signed tokens. Each test bends what it needs. */
export interface TestIssuer {
  readonly url: string;
  readonly jwksUrl: string;
  /** The keys it publishes; the first one signs. */
  keys: SigningKey[];
  cacheControl: string | null;
  /** Content type of the key set; null sends none. */
  jwksType: string | null;
  /** Answered in place of the discovery document. */
  discovery: (() => unknown) | null;
  /** Answers 503 to everything. */
  isDown: boolean;
  /** Takes requests and never answers them. */
  isSilent: boolean;
  /** Paths asked for so far. */
  readonly asked: string[];
  /** Signs claims that make a valid access token unless a test says otherwise; undefined leaves one out. */
  sign(claims?: Record<string, unknown>, options?: SignOptions): Promise<string>;
  close(): Promise<void>;
}

export async function makeKey(kid: string, algorithm: Algorithm = "RS256"): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const publicJwk = { ...(await exportJWK(publicKey)), kid, use: "sig" };
  return { kid, algorithm, privateKey, publicJwk };
}

export async function startTestIssuer(firstKey?: SigningKey): Promise<TestIssuer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    asked.push(path);
    if (issuer.isSilent) return;
    if (issuer.isDown) return answer(response, 503, {}, null);
    if (path === "/.well-known/openid-configuration")
      return answer(response, 200, discoveryOf(issuer), "application/json");
    const keys = { keys: issuer.keys.map((key) => key.publicJwk) };
    if (path === "/.well-known/jwks.json") return answer(response, 200, keys, issuer.jwksType);
    return answer(response, 404, { error: `unexpected request for ${path}` }, "application/json");
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function answer(response: ServerResponse, status: number, body: unknown, type: string | null): void {
    if (type !== null) response.setHeader("content-type", type);
    if (issuer.cacheControl !== null) response.setHeader("cache-control", issuer.cacheControl);
    response.writeHead(status);
    response.end(JSON.stringify(body));
  }

  const issuer: TestIssuer = {
    url,
    jwksUrl: `${url}/.well-known/jwks.json`,
    keys: [firstKey ?? (await makeKey("first"))],
    cacheControl: null,
    jwksType: "application/json; charset=utf-8",
    discovery: null,
    isDown: false,
    isSilent: false,
    asked,
    async sign(claims = {}, { header = {}, key = issuer.keys[0]! } = {}) {
      const nowSeconds = Math.floor(Date.now() / 1_000);
      const usual = { iss: url, sub: "kp_1", aud: ["convex"], iat: nowSeconds, exp: nowSeconds + 3_600 };
      const jwt = new SignJWT({ ...usual, ...claims });
      const fields = { alg: key.algorithm, kid: key.kid, typ: "JWT", ...header };
      return jwt.setProtectedHeader(fields).sign(key.privateKey);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return issuer;
}

function discoveryOf(issuer: TestIssuer): unknown {
  if (issuer.discovery !== null) return issuer.discovery();
  return { issuer: issuer.url, jwks_uri: issuer.jwksUrl };
}
