import { failed, type FaultCode, type Finding } from "./report.ts";

/** One request of the doctor, with the reason told apart when there is no answer. Redirects are not followed. */

export interface ProbeRequest {
  readonly method?: "GET" | "POST";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answered {
  readonly kind: "answered";
  readonly status: number;
  readonly location: string | null;
  /** Undefined when the body is not JSON. */
  readonly json: unknown;
}

export interface NoAnswer {
  readonly kind: "no_answer";
  readonly fault: FaultCode;
  /** Completes "… does not answer: ". */
  readonly reason: string;
  readonly next: string;
}

export type Probe = (request: ProbeRequest) => Promise<Answered | NoAnswer>;

/** An answer larger than this is none of those we ask for. */
const BODY_CHARACTERS_MAX = 5_000_000;

/** Never throws, and shows nothing of what the runtime threw: those texts may quote headers. */
export function createProbe(fetchFn: typeof fetch, timeoutMs: number): Probe {
  return async ({ method = "GET", url, headers, body }) => {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const response = await fetchFn(url, { method, headers, body, signal, redirect: "manual" });
      const text = await response.text();
      const json = text.length > BODY_CHARACTERS_MAX ? undefined : parseJson(text);
      return { kind: "answered", status: response.status, location: response.headers.get("location"), json };
    } catch (error) {
      return { kind: "no_answer", ...(signal.aborted ? TIMEOUT(timeoutMs) : reasonOf(error)) };
    }
  };
}

/** The finding for an address without an answer. */
export function unreachable(what: string, url: string, { fault, reason, next }: NoAnswer): Finding {
  return failed(fault, `${what} ${hostOf(url)} does not answer: ${reason}`, next);
}

/** Scheme, host and port; the rest of an address may hold a secret. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "(no URL)";
}

const TIMEOUT = (timeoutMs: number): Omit<NoAnswer, "kind"> => ({
  fault: "timeout",
  reason: `nothing came within ${timeoutMs / 1000} s`,
  next: "look for a firewall or proxy between this machine and that host, then run the doctor again",
});

function reasonOf(error: unknown): Omit<NoAnswer, "kind"> {
  const code = codeOf(error);
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return {
      fault: "host_unknown",
      reason: "DNS knows no such host",
      next: "look for a typing error in the host name; without one, look at the DNS of this machine",
    };
  }
  if (code === "ECONNREFUSED") {
    return {
      fault: "connection_refused",
      reason: "the connection was refused",
      next: "start what should listen there, or mend the port in the address",
    };
  }
  if (/TIMEOUT|ETIMEDOUT/.test(code)) {
    return { ...TIMEOUT(0), reason: "the connection took too long" };
  }
  if (/CERT|TLS|SSL|EPROTO|ISSUER/.test(code)) {
    return {
      fault: "tls",
      reason: `TLS failed (${code})`,
      next: "use the address that the certificate is for; of an own authority, name its file in NODE_EXTRA_CA_CERTS",
    };
  }
  return {
    fault: "connection_lost",
    reason: "the connection broke before an answer",
    next: "look at the log of what listens there, and for a proxy on the way",
  };
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
