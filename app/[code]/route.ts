import { after } from "next/server";
import { toResponse } from "../../lib/server/http.ts";
import { processRedirects } from "../../lib/server/redirect-deps.ts";

// A link may change between two clicks.
export const dynamic = "force-dynamic";

/** Where the front door does not run, and for single segments that cannot be codes. */
const handler = async (request: Request): Promise<Response> => {
  const redirects = processRedirects({ waitUntil: (work) => after(work) });
  return toResponse(await redirects.handle(request));
};

export { handler as GET, handler as HEAD };
