import { handleApi } from "../../../../lib/server/api/router.ts";
import { guarded } from "../../../../lib/server/guarded.ts";
import { toResponse } from "../../../../lib/server/http.ts";

// Every answer depends on the request and on the environment of the running process.
export const dynamic = "force-dynamic";

const answer = guarded(handleApi);
const handler = async (request: Request): Promise<Response> => toResponse(await answer(request));

export {
  handler as DELETE,
  handler as GET,
  handler as HEAD,
  handler as OPTIONS,
  handler as PATCH,
  handler as POST,
  handler as PUT,
};
