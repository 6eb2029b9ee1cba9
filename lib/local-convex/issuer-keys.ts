/**
 * The public keys of one issuer, fetched when needed and kept. An issuer that is down does not take known keys
 * away, and tokens with made-up key ids cannot make this ask it again and again.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type LocalJWKSet } from "jose";
import type { AuthProvider } from "./auth-config.ts";

/** Longest wait for one answer of the issuer. */
const FETCH_TIMEOUT_MS = 5_000;
/** How long a caller whose key is known waits for newer ones. */
const STALE_WAIT_MS = 1_000;
/** Keys that are there are not fetched again within this time, whatever a token or a cache header says. */
const REFETCH_MS = 10_000;
/** While there are no keys at all, an issuer that failed is asked again after this time. */
const RETRY_MS = 1_000;
/** How long keys are fresh: with no word about it, and the longest that is believed. */
const FRESH_DEFAULT_MS = 5 * 60_000;
const FRESH_MAX_MS = 60 * 60_000;

export interface IssuerKeySet {
  /** The issuer's own name as its discovery document gives it; null where there is no discovery. */
  readonly issuer: string | null;
  readonly lookUp: LocalJWKSet;
}

interface Fetched extends IssuerKeySet {
  readonly freshUntilMs: number;
}

/** The issuer could not be asked, or answered something else than keys. The message names the address and the reason. */
export class IssuerError extends Error {
  override readonly name = "IssuerError";
}

export class IssuerKeys {
  private known: Fetched | null = null;
  private lastFailure: IssuerError | null = null;
  private askedAtMs = Number.NEGATIVE_INFINITY;
  private asking: Promise<void> | null = null;

  constructor(
    private readonly provider: AuthProvider,
    /** A time that never goes back. */
    private readonly elapsedMs: () => number,
  ) {}

  /** The keys to verify a token with. @throws IssuerError when there are none and the issuer gives none */
  async current(): Promise<IssuerKeySet> {
    if (this.known === null) {
      if (this.lastFailure === null || this.mayAsk(RETRY_MS)) await this.ask();
      else await this.asking;
    } else if (
      this.elapsedMs() >= this.known.freshUntilMs &&
      (this.asking !== null || this.mayAsk(REFETCH_MS))
    ) {
      await atMost(STALE_WAIT_MS, this.ask());
    }
    if (this.known === null) throw this.lastFailure ?? new IssuerError("The issuer gave no keys.");
    return this.known;
  }

  /** Asks for newer keys than `used`; null when that is not allowed yet or brought nothing. */
  async newerThan(used: IssuerKeySet): Promise<IssuerKeySet | null> {
    if (this.known === used && (this.asking !== null || this.mayAsk(REFETCH_MS))) await this.ask();
    return this.known === used ? null : this.known;
  }

  private mayAsk(againAfterMs: number): boolean {
    return this.elapsedMs() - this.askedAtMs >= againAfterMs;
  }

  /** One question at a time; whoever comes meanwhile shares its answer. Never rejects. */
  private ask(): Promise<void> {
    if (this.asking !== null) return this.asking;
    this.askedAtMs = this.elapsedMs();
    this.asking = this.fetchAll().then(
      (fetched) => {
        this.known = fetched;
        this.lastFailure = null;
        this.asking = null;
      },
      (error: unknown) => {
        this.lastFailure = error instanceof IssuerError ? error : new IssuerError(String(error));
        this.asking = null;
      },
    );
    return this.asking;
  }

  private async fetchAll(): Promise<Fetched> {
    const { provider } = this;
    if (provider.kind === "customJwt") {
      const keys = await fetchJson(provider.jwks, "required", JWKS_TYPES);
      const isInline = provider.jwks.startsWith("data:");
      return {
        issuer: null,
        lookUp: toKeySet(keys.body, provider.jwks),
        freshUntilMs: isInline ? Number.POSITIVE_INFINITY : this.elapsedMs() + keys.freshMs,
      };
    }
    const discoveryUrl = `${provider.issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`;
    const discovery = await fetchJson(discoveryUrl, "optional", ["application/json"]);
    const { issuer, jwks_uri: jwksUri } = (discovery.body ?? {}) as Record<string, unknown>;
    if (typeof issuer !== "string" || typeof jwksUri !== "string" || !/^https?:\/\//.test(jwksUri)) {
      throw new IssuerError(`${discoveryUrl} lacks \`issuer\` or \`jwks_uri\`.`);
    }
    const keys = await fetchJson(jwksUri, "optional", JWKS_TYPES);
    return {
      issuer,
      lookUp: toKeySet(keys.body, jwksUri),
      freshUntilMs: this.elapsedMs() + Math.min(discovery.freshMs, keys.freshMs),
    };
  }
}

const JWKS_TYPES = ["application/json", "application/jwk-set+json"];

async function fetchJson(
  url: string,
  contentType: "required" | "optional",
  types: readonly string[],
): Promise<{ body: unknown; freshMs: number }> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      headers: { accept: types.join(", ") },
      signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    });
    text = await response.text();
  } catch (error) {
    throw new IssuerError(`${shown(url)} could not be fetched: ${reasonOf(error)}.`, { cause: error });
  }
  if (!response.ok) throw new IssuerError(`${shown(url)} answered ${response.status}.`);
  const type = response.headers.get("content-type")?.split(";")[0]!.trim().toLowerCase();
  const isAccepted = type === undefined ? contentType === "optional" : types.includes(type);
  if (!isAccepted && !url.startsWith("data:")) {
    throw new IssuerError(
      `${shown(url)} has the content type ${type ?? "(none)"}, not ${types.join(" or ")}.`,
    );
  }
  try {
    return { body: JSON.parse(text), freshMs: freshMs(response.headers.get("cache-control")) };
  } catch {
    throw new IssuerError(`${shown(url)} is not valid JSON.`);
  }
}

/** A data: URI is long, and its content is no address. */
function shown(url: string): string {
  return url.startsWith("data:") ? "The data: URI of the keys" : url;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `no answer within ${FETCH_TIMEOUT_MS / 1_000} s`;
  const cause = error.cause as { code?: string } | undefined;
  return cause?.code ?? error.message;
}

function freshMs(cacheControl: string | null): number {
  if (cacheControl === null) return FRESH_DEFAULT_MS;
  if (/\b(no-store|no-cache)\b/i.test(cacheControl)) return REFETCH_MS;
  const maxAge = /\bmax-age\s*=\s*"?(\d+)/i.exec(cacheControl);
  if (maxAge === null) return FRESH_DEFAULT_MS;
  return Math.min(Math.max(Number(maxAge[1]) * 1_000, REFETCH_MS), FRESH_MAX_MS);
}

function toKeySet(body: unknown, url: string): LocalJWKSet {
  try {
    return createLocalJWKSet(body as JSONWebKeySet);
  } catch (error) {
    if (error instanceof errors.JWKSInvalid) throw new IssuerError(`${shown(url)} is not a set of keys.`);
    throw error;
  }
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
