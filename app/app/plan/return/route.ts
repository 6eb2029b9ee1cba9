import { fetchAction } from "convex/nextjs";
import { type NextRequest, NextResponse } from "next/server";
import { api } from "../../../../convex/_generated/api";
import { readSession } from "../../../session.ts";
import { tryForAccount } from "../account-action.ts";
import { PLAN_BEFORE_COOKIE, PLAN_BEFORE_PARAM, PLAN_PATH } from "../plan-before.ts";

export const dynamic = "force-dynamic";

/**
 * Where the plan page sends the customer back to: the limit is read anew, so that the new plan counts at once. If that
 * fails, the next admission finds the limit too old by itself.
 */
export async function GET(request: NextRequest): Promise<Response> {
  const site = process.env.KINDE_SITE_URL ?? "";
  const session = await readSession();
  if (session === null) return NextResponse.redirect(`${site}/api/auth/login?post_login_redirect_url=/app`);
  await tryForAccount(
    session,
    (options) => fetchAction(api.limits.refreshNow, {}, options),
    "limit_refresh_failed",
  );
  const planBefore = request.cookies.get(PLAN_BEFORE_COOKIE)?.value;
  if (planBefore === undefined) return NextResponse.redirect(`${site}/app`);
  const query = new URLSearchParams({ [PLAN_BEFORE_PARAM]: planBefore });
  const response = NextResponse.redirect(`${site}/app?${query.toString()}`);
  response.cookies.delete({ name: PLAN_BEFORE_COOKIE, path: PLAN_PATH });
  return response;
}
