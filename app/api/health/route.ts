import { healthResponse } from "../../../lib/server/health-response.ts";
import { toResponse } from "../../../lib/server/http.ts";

// A health answer that was kept would say nothing about now.
export const dynamic = "force-dynamic";

export const GET = async (): Promise<Response> => toResponse(await healthResponse());
