import { toResponse } from "../../../../lib/server/http.ts";
import { handleWebhook } from "../../../../lib/server/webhooks/process.ts";

// Each delivery is its own.
export const dynamic = "force-dynamic";

/** Where the front door does not run. */
export const POST = async (request: Request): Promise<Response> => toResponse(await handleWebhook(request));
