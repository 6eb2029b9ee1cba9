import { afterAll, beforeEach } from "vitest";
import { handleApi } from "../../../lib/server/api/router.ts";
import { createConvexGateway } from "../../../lib/server/convex.ts";
import { toResponse } from "../../../lib/server/http.ts";
import { readSessionToken } from "../../../lib/server/session-token.ts";
import type { LogEvent, ServerDeps } from "../../../lib/server/deps.ts";
import { startFakeConvex, type FakeConvex } from "./fake-convex.ts";

export const SERVER_SECRET = "server-secret-of-the-test-0123456789abcdef";
export const API_KEY = "hf_live_testtesttesttesttesttesttesttesttesttesttes";

export interface CallOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly raw?: BodyInit;
  readonly headers?: Record<string, string>;
  readonly key?: string | null;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of many shapes
  readonly json: any;
}

export interface ApiHarness {
  readonly convex: FakeConvex;
  readonly logged: LogEvent[];
  /** Waits that a handler asked for; they pass at once on the harness's clock. */
  readonly sleptMs: number[];
  readonly deps: ServerDeps;
  call(path: string, options?: CallOptions): Promise<Answer>;
}

/** The handlers against a fake Convex on a real socket, with a clock that only sleeping moves. */
export async function apiHarness(): Promise<ApiHarness> {
  const convex = await startFakeConvex();
  const logged: LogEvent[] = [];
  const sleptMs: number[] = [];
  const startedAtMs = Date.UTC(2026, 9, 1);
  let clockMs = startedAtMs;
  const deps: ServerDeps = {
    convex: createConvexGateway({ url: convex.url, serverSecret: SERVER_SECRET }),
    readSessionToken,
    nowMs: () => clockMs,
    // oxlint-disable-next-line require-await -- stands in for a real wait
    sleep: async (ms) => {
      sleptMs.push(ms);
      clockMs += ms;
    },
    random: () => 0.5,
    elapsedMs: () => 0,
    answered: () => undefined,
    newId: () => "error-id-1",
    log: (event) => void logged.push(event),
  };
  beforeEach(() => {
    convex.reset();
    logged.length = 0;
    sleptMs.length = 0;
    clockMs = startedAtMs;
  });
  afterAll(() => convex.close());

  return {
    convex,
    logged,
    sleptMs,
    deps,
    async call(path, { method = "GET", body, raw, headers = {}, key = API_KEY } = {}) {
      const sent: Record<string, string> = { ...headers };
      if (key !== null) sent.authorization ??= `Bearer ${key}`;
      if (body !== undefined) sent["content-type"] ??= "application/json";
      const payload = raw ?? (body === undefined ? null : JSON.stringify(body));
      const request = new Request(`http://localhost:3000/api/v1${path}`, {
        method,
        headers: sent,
        body: payload,
        ...(payload instanceof ReadableStream ? { duplex: "half" } : {}),
      });
      const response = toResponse(await handleApi(request, deps));
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: text === "" ? undefined : JSON.parse(text),
      };
    },
  };
}
