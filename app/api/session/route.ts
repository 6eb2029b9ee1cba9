import { isOwnAct } from "../../../lib/server/session-token.ts";
import { readBrowserToken } from "../../session.ts";

// The answer belongs to one session and one moment.
export const dynamic = "force-dynamic";

const NEVER_KEPT = { "cache-control": "private, no-store" };

/**
 * Hands the signed-in browser its access token, renewed when `{"force": true}` asks for it or little of its life is
 * left. A POST from this origin only: nothing that a link or another site can start spends a refresh token.
 */
export async function POST(request: Request): Promise<Response> {
  if (!isOwnAct(request)) {
    return Response.json({ code: "forbidden" }, { status: 403, headers: NEVER_KEPT });
  }
  const body = (await request.json().catch(() => ({}))) as { readonly force?: unknown } | null;
  const token = await readBrowserToken(body?.force === true, Date.now());
  if (token === null) return Response.json({ code: "unauthorized" }, { status: 401, headers: NEVER_KEPT });
  return Response.json(token, { headers: NEVER_KEPT });
}
