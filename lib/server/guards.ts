import { problemResponse } from "./api/answers.ts";
import { withBodyRead } from "./body-first.ts";
import {
  ClientLimits,
  FAILED_KEYS,
  FAILED_SESSIONS,
  HEALTH_CHECKS,
  REFUSED_WEBHOOKS,
  SIGN_INS,
  UNKNOWN_CODES,
} from "./client-limits.ts";
import { ClientTurns, type Turn } from "./client-turns.ts";
import { type GuardName, heldBackCounts } from "./held-back.ts";
import type { PlainRequest, PlainResponse } from "./http.ts";
import { noticePage } from "./notice-page.ts";
import { KnownCredentials, type ShownCredential, shownBy } from "./shown-credential.ts";

/** A request at the door. `client` gives `clientOf`; instants are of a clock that does not go back. */
export interface Visit {
  readonly request: PlainRequest;
  readonly pathname: string;
  readonly client: () => string;
  readonly nowMs: () => number;
}

/** The right to be looked at. */
export interface Pass {
  /** What the handler is given. */
  readonly request: PlainRequest;
  /** Is told once how it was answered. What it gives is sent in place of that answer. */
  readonly answered: (status: number) => PlainResponse | null;
}

/** What becomes of a request: a pass, the answer to one that has to wait, or null when nobody keeps an eye on it. */
export type Admission = Pass | PlainResponse | null;

/** What keeps one client from asking without end where no sign-in is needed. */
export interface Guard {
  admit(visit: Visit): Admission | Promise<Admission>;
}

type Refuse = (waitMs: number) => PlainResponse;

function refusing(name: GuardName, answer: Refuse): Refuse {
  return (waitMs) => {
    heldBackCounts()[name] += 1;
    return answer(waitMs);
  };
}

const DETAIL = "Too many requests from this address went wrong. Wait before the next one.";

const asProblem: Refuse = (waitMs) =>
  problemResponse("too_many_requests", DETAIL, { retryAfterMs: Math.max(1, waitMs) });

const asPage: Refuse = (waitMs) =>
  noticePage({
    status: 429,
    title: "Too many requests",
    text: "Too many requests came from this address. Please try again in a moment.",
    links: [{ href: "/", name: "Go to the start page" }],
    headers: { "retry-after": String(Math.max(1, Math.ceil(waitMs / 1000))) },
  });

interface TurnRules {
  readonly turns: ClientTurns;
  readonly refuse: Refuse;
  /** Whether the request shows something that may prove good, whatever others of the client did. */
  readonly mayProve: boolean;
  readonly isFailure: (status: number) => boolean;
}

/** Lets a request through when it is its turn. A failure beyond the client's tries is answered as a refusal. */
function inTurn(visit: Visit, rules: TurnRules): Admission | Promise<Admission> {
  const { turns, refuse, mayProve, isFailure } = rules;
  const { request } = visit;
  const client = visit.client();
  const refusal = () => refuse(turns.limits.waitMs(client, visit.nowMs()));
  const passOf = (turn: Turn | null): Admission => {
    if (turn === null) return refusal();
    const answered = (status: number) => {
      const hasFailed = isFailure(status);
      turn.end(hasFailed, visit.nowMs());
      return hasFailed && turn.isBeyond ? refusal() : null;
    };
    return { request, answered };
  };
  const taken = turns.take(client, mayProve, visit.nowMs());
  return taken instanceof Promise ? taken.then(passOf) : passOf(taken);
}

/**
 * For routes that take an API key or a session: a client that shows wrong ones waits. A wrong operator key is
 * `forbidden`, as a customer's key is there, so both answers count. What was good lately passes at once, what was wrong
 * lately is refused without being looked at; of the rest a client without a try has a few looked at at a time, so that
 * a good key is answered whatever others do at its address.
 */
export function keyGuard(bodyBytesMax: number): Guard {
  const known = new KnownCredentials();
  const kinds = {
    key: { turns: new ClientTurns(FAILED_KEYS), refuse: refusing("keys", asProblem) },
    session: { turns: new ClientTurns(FAILED_SESSIONS), refuse: refusing("sessions", asProblem) },
  };
  const passOfGood = ({ request, client, nowMs }: Visit, shown: ShownCredential): Pass => ({
    request,
    answered(status) {
      if (known.note(shown, status) === "wrong") kinds[shown.kind].turns.limits.count(client(), nowMs());
      return null;
    },
  });
  const notingPass = (admission: Admission, shown: ShownCredential): Admission => {
    if (admission === null || "status" in admission) return admission;
    const { request, answered } = admission;
    return {
      request,
      answered(status) {
        known.note(shown, status);
        return answered(status);
      },
    };
  };
  return {
    admit(visit) {
      // What a path takes is answered without a look at the key: it proves nothing and costs nothing.
      if (visit.request.method === "OPTIONS") return null;
      const shown = shownBy(visit.request);
      const { turns, refuse } = kinds[shown?.kind ?? "key"];
      const isFailure = (status: number) => status === 401 || (status === 403 && shown?.kind !== "session");
      if (shown === null) return inTurn(visit, { turns, refuse, isFailure, mayProve: false });
      if (known.isGood(shown)) return passOfGood(visit, shown);
      const mayProve = !known.isWrong(shown);
      return withBodyRead(visit.request, bodyBytesMax).then(async (request) => {
        const admission = await inTurn({ ...visit, request }, { turns, refuse, isFailure, mayProve });
        return notingPass(admission, shown);
      });
    },
  };
}

/**
 * For the webhook endpoint: bodies that the tenant did not sign, and those that cannot be judged now (503). Each body is
 * whole before its turn comes, and is looked at also when the client has no try left: who signs is the provider,
 * whoever else sends from its address.
 */
export function webhookGuard(bodyBytesMax: number): Guard {
  const rules: TurnRules = {
    turns: new ClientTurns(REFUSED_WEBHOOKS),
    refuse: refusing("webhooks", asProblem),
    mayProve: true,
    isFailure: (status) => (status >= 400 && status < 500) || status === 503,
  };
  return {
    async admit(visit) {
      const request = await withBodyRead(visit.request, bodyBytesMax);
      return await inTurn({ ...visit, request }, rules);
    },
  };
}

/** For short links: codes that nobody has. A link that `isKept` knows of is served to everybody at any time. */
export function codeGuard(isKept: (code: string) => boolean): Guard {
  const rules: TurnRules = {
    turns: new ClientTurns(UNKNOWN_CODES),
    refuse: refusing("codes", asPage),
    mayProve: false,
    isFailure: (status) => status === 404,
  };
  return { admit: (visit) => (isKept(visit.pathname.slice(1)) ? null : inTurn(visit, rules)) };
}

/** For what costs the same however it is answered: every request counts. */
function everyRequest(limits: ClientLimits, refuse: Refuse) {
  return (visit: Visit): PlainResponse | null => {
    const client = visit.client();
    const nowMs = visit.nowMs();
    const waitMs = limits.waitMs(client, nowMs);
    if (waitMs > 0) return refuse(waitMs);
    limits.count(client, nowMs);
    return null;
  };
}

export const healthGuard = (): Guard => ({
  admit: everyRequest(new ClientLimits(HEALTH_CHECKS), refusing("health_checks", asProblem)),
});

/** For what Next answers: no more than whether it may go on. */
export const signInHold = () => everyRequest(new ClientLimits(SIGN_INS), refusing("sign_ins", asPage));
