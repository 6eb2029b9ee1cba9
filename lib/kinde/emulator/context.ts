import type { Catalogue } from "./catalogue.ts";
import type { EmulatorConfig } from "./config.ts";
import type { Answer } from "./answers.ts";
import type { ShapeFaults } from "./fault-kinds.ts";
import type { SigningKeys } from "./keys.ts";
import type { Storage } from "./storage.ts";
import type { DeliveryClock } from "./webhooks-clock.ts";

/** What every handler works with. */
export interface Emulator {
  readonly config: EmulatorConfig;
  readonly catalogue: Catalogue;
  readonly storage: Storage;
  readonly keys: SigningKeys;
  /** Own base URL without a trailing slash; `iss` of every token. */
  readonly issuer: string;
  /** Real time: the life of tokens, codes and links. */
  readonly wallNowMs: () => number;
  /** Business time, which a test clock may move: sign-up dates, agreements, meter records, cycles. */
  readonly nowMs: () => number;
  /** What the retries of webhooks wait by. */
  readonly deliveryClock: DeliveryClock;
  /** Who makes what happens in this request: what events tell as their `source`. */
  readonly source: ChangeSource;
}

/** Kinde's words: an admin's screens, a machine, or the user themself. */
export type ChangeSource = "admin" | "api" | "user";

export interface Call {
  readonly method: string;
  readonly path: string;
  /** Values of the `{name}` parts of the route's path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  readonly shape: ShapeFaults;
}

/** Runs inside one transaction and never waits, so that no two requests can see each other half done. */
export type Handler = (emulator: Emulator, call: Call) => Answer;

export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly handler: Handler;
}
