import { guarded } from "../../../lib/server/guarded.ts";
import { toResponse } from "../../../lib/server/http.ts";
import { metricsResponse } from "../../../lib/server/metrics.ts";

export const dynamic = "force-dynamic";

const answer = guarded(metricsResponse);
export const GET = async (request: Request): Promise<Response> => toResponse(await answer(request));
