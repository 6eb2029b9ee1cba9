import type { z } from "zod";

import { retried, startBudget, type Budget, type RetryPorts } from "./back-off.ts";
import { codeOfStatus, failure, type Failure } from "./failure.ts";
import { exchange, type HttpOutcome, type HttpRequest } from "./http.ts";
import { acknowledgement, parseAnswer, readErrorCode, tokenAnswer } from "./schemas.ts";
import type { KindeSettings } from "./settings.ts";
import { createTokenSource, type TokenStore } from "./token.ts";

export type Query = Readonly<Record<string, string>>;

export interface ReadAnswer<T> {
  readonly kind: "read";
  readonly value: T;
  /** When the request that brought the answer was sent. */
  readonly sentAtMs: number;
}

/** Authorised calls to the management API. Nothing here knows a particular endpoint. */
export interface ManagementApi {
  /** The time for one operation, which may take several reads. */
  startBudget(): Budget;
  /** A GET, tried again as long as the budget allows. */
  read<Schema extends z.ZodType>(
    path: string,
    query: Query,
    schema: Schema,
    budget: Budget,
  ): Promise<ReadAnswer<z.output<Schema>> | Failure>;
  /**
   * A POST, sent once. Only a 401 has it sent again, with a new token: a request that was not let in changed nothing.
   * Nothing is sent from `startBeforeMs` on, by `nowMs`; null for no such bound.
   */
  write(
    path: string,
    body: object,
    startBeforeMs: number | null,
  ): Promise<{ readonly kind: "written" | "already_there" } | Failure>;
}

export interface ApiPorts extends RetryPorts {
  readonly settings: Required<KindeSettings>;
  readonly tokenStore: TokenStore;
  readonly fetch: typeof fetch;
  readonly nowMs: () => number;
  readonly elapsedMs: () => number;
  readonly callTimeoutMs: number;
  readonly budgetMs: number;
}

type Success = {
  readonly kind: "success";
  readonly status: number;
  readonly json: unknown;
  readonly sentAtMs: number;
};

const TOKEN_PATH = "/oauth2/token";

export function createManagementApi(ports: ApiPorts): ManagementApi {
  const { settings } = ports;
  const tokens = createTokenSource({ ...ports, store: ports.tokenStore, fetchToken });

  async function fetchToken(budget: Budget) {
    const body = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: settings.clientId,
      client_secret: settings.clientSecret,
      audience: settings.audience,
    }).toString();
    const headers = { accept: "application/json", "content-type": "application/x-www-form-urlencoded" };
    const url = new URL(TOKEN_PATH, settings.issuerUrl);
    const endpoint = `POST ${TOKEN_PATH}`;
    const request: HttpRequest = { method: "POST", url, headers, body };
    // A token that got lost on its way back harms nobody, so this is as safe to repeat as a read.
    const answer = await sendWithin(budget, endpoint, request);
    if (answer.kind === "failed") return asTokenFailure(answer);
    const parsed = parseAnswer(tokenAnswer, { ...answer, endpoint }, "no");
    if (parsed.kind === "failed") return parsed;
    const { access_token: accessToken, expires_in: lifeSeconds } = parsed.value;
    return { kind: "fetched" as const, accessToken, lifeSeconds };
  }

  /** Runs a call with a token; a token that is refused is replaced once. */
  async function authorised(
    budget: Budget,
    call: (accessToken: string) => Promise<Success | Failure>,
  ): Promise<Success | Failure> {
    const first = await tokens.get(null, budget);
    if (first.kind === "failed") return first;
    const answer = await call(first.accessToken);
    if (answer.kind !== "failed" || answer.code !== "unauthorized") return answer;
    const second = await tokens.get(first.accessToken, budget);
    return second.kind === "failed" ? second : call(second.accessToken);
  }

  async function send(
    endpoint: string,
    request: HttpRequest,
    timeoutMs: number,
    whenUnsure: Failure["committed"],
  ): Promise<Success | Failure> {
    const sentAtMs = ports.nowMs();
    const outcome = await exchange(ports.fetch, request, timeoutMs);
    if (outcome.kind === "answered" && outcome.status >= 200 && outcome.status < 300) {
      return { kind: "success", status: outcome.status, json: outcome.json, sentAtMs };
    }
    return failureOf(endpoint, outcome, whenUnsure);
  }

  /** A call without effect, which may not outlast the budget. */
  async function sendWithin(
    budget: Budget,
    endpoint: string,
    request: HttpRequest,
  ): Promise<Success | Failure> {
    const timeoutMs = Math.floor(Math.min(ports.callTimeoutMs, budget.leftMs()));
    if (timeoutMs > 0) return send(endpoint, request, timeoutMs, "no");
    return failure({ code: "timeout", message: `${endpoint}: no time was left to send it` });
  }

  return {
    startBudget: () => startBudget(ports.elapsedMs, ports.budgetMs),

    async read(path, query, schema, budget) {
      const endpoint = `GET ${path}`;
      const url = new URL(path, settings.issuerUrl);
      url.search = new URLSearchParams(query).toString();
      const answer = await authorised(budget, (accessToken) => {
        const headers = { accept: "application/json", authorization: `Bearer ${accessToken}` };
        return retried(ports, budget, () => sendWithin(budget, endpoint, { method: "GET", url, headers }));
      });
      if (answer.kind === "failed") return answer;
      const parsed = parseAnswer(schema, { ...answer, endpoint }, "no");
      if (parsed.kind === "failed") return parsed;
      return { kind: "read", value: parsed.value, sentAtMs: answer.sentAtMs };
    },

    async write(path, body, startBeforeMs) {
      const endpoint = `POST ${path}`;
      const url = new URL(path, settings.issuerUrl);
      const answer = await authorised(startBudget(ports.elapsedMs, ports.budgetMs), async (accessToken) => {
        if (startBeforeMs !== null && ports.nowMs() >= startBeforeMs) {
          return failure({ code: "timeout", message: `${endpoint}: it was too late to send it` });
        }
        const headers = {
          accept: "application/json",
          authorization: `Bearer ${accessToken}`,
          "content-type": "application/json",
        };
        const request: HttpRequest = { method: "POST", url, headers, body: JSON.stringify(body) };
        return send(endpoint, request, ports.callTimeoutMs, "unknown");
      });
      if (answer.kind === "failed") {
        return isAlreadyThere(answer) ? { kind: "already_there" } : answer;
      }
      const parsed = parseAnswer(acknowledgement, { ...answer, endpoint }, "unknown");
      return parsed.kind === "failed" ? parsed : { kind: "written" };
    },
  };
}

/** `whenUnsure`: what to say of a call that may have had its effect; "no" for calls that have none. */
function failureOf(endpoint: string, outcome: HttpOutcome, whenUnsure: Failure["committed"]): Failure {
  if (outcome.kind === "lost") {
    const { code, status, reason, arrived } = outcome;
    const committed = arrived === "no" ? "no" : whenUnsure;
    return failure({ code, status, committed, message: `${endpoint}: ${reason}` });
  }
  const { status, retryAfterMs } = outcome;
  const errorCode = readErrorCode(outcome.json);
  const code = codeOfStatus(status);
  const committed = status >= 400 && status < 500 ? "no" : whenUnsure;
  const detail = errorCode === null ? "" : ` (${errorCode})`;
  const message =
    code === "bad_answer"
      ? `${endpoint}: it answered ${status}, and redirects are not followed`
      : `${endpoint}: it answered ${status}${detail}`;
  return failure({ code, status, retryAfterMs, committed, errorCode, message });
}

/**
 * A refusal by the token endpoint says nothing about what is then asked of the API: its 404 is no missing user and its
 * 409 no meter that is written already. All of them come out as "no token to be had".
 */
function asTokenFailure(failed: Failure): Failure {
  const isRefusal = failed.code === "rejected" || failed.code === "not_found";
  return isRefusal ? { ...failed, code: "unauthorized" } : failed;
}

/** A 409, or a refusal that says so in its code: what we wanted to write is there. */
function isAlreadyThere({ code, status, errorCode }: Failure): boolean {
  return code === "rejected" && (status === 409 || /already_?exists/i.test(errorCode ?? ""));
}
