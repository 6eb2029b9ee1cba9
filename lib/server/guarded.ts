import { problemResponse } from "./api/answers.ts";
import type { ServerDeps } from "./deps.ts";
import type { Answer, PlainRequest } from "./http.ts";
import { ConfigurationError, logLine, processDeps } from "./process-deps.ts";

/**
 * Gives a handler the dependencies of this process. A process that is not configured answers `unavailable` and names
 * the missing variable in its log only.
 */
export function guarded(handler: (request: PlainRequest, deps: ServerDeps) => Promise<Answer>) {
  return async (request: PlainRequest): Promise<Answer> => {
    let deps: ServerDeps;
    try {
      deps = processDeps();
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      logLine({ event: "not_configured", message: error.message });
      return problemResponse("unavailable", "This server is not configured yet.", { retryAfterMs: 5000 });
    }
    return await handler(request, deps);
  };
}
