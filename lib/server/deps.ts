import type { ConvexGateway } from "./convex.ts";
import type { PlainRequest } from "./http.ts";
import type { AnsweredRequest } from "./request-counts.ts";

/** What went wrong, for the server's own log. It holds no key, no secret and no request body. */
export interface LogEvent {
  readonly event: string;
  readonly errorId?: string;
  /** Of the request that it happened to. */
  readonly requestId?: string;
  readonly [field: string]: string | number | boolean | undefined;
}

/** What the handlers need from the outside; the process gives the real things, tests give their own. */
export interface ServerDeps {
  readonly convex: ConvexGateway;
  /** The access token of the signed-in session behind a request, unchecked; null when there is none. */
  readonly readSessionToken: (request: PlainRequest) => string | null;
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** 0 ≤ value < 1; spreads out retries. */
  readonly random: () => number;
  /** Milliseconds of a clock that does not go back. */
  readonly elapsedMs: () => number;
  readonly newId: () => string;
  readonly log: (event: LogEvent) => void;
  /** Told of every request of the API once it is answered. */
  readonly answered: (request: AnsweredRequest) => void;
}
