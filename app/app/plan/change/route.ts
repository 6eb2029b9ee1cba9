import { fetchAction, fetchQuery } from "convex/nextjs";
import { NextResponse } from "next/server";
import { api } from "../../../../convex/_generated/api";
import { isOwnRequest } from "../../../../lib/server/session-token.ts";
import { readSession } from "../../../session.ts";
import { tryForAccount } from "../account-action.ts";
import { PLAN_BEFORE_COOKIE, planBeforeOptions } from "../plan-before.ts";

export const dynamic = "force-dynamic";

/**
 * The way to the plan page. It lies behind proxy.ts, which renews a token that is about to end: the provider's own
 * route does not, and sends people with an old one to the start page without a word.
 *
 * A change of the plan ends the agreement, and with it the meter. What was used in the last minute is sent before that.
 */
export async function GET(request: Request): Promise<Response> {
  const site = process.env.KINDE_SITE_URL ?? "";
  // A page elsewhere can send somebody here. It may send them to the plan, but it sets nothing going.
  if (!isOwnRequest(request)) return NextResponse.redirect(`${site}/app/plan`);
  const session = await readSession();
  let planKey: string | null = null;
  if (session !== null) {
    await Promise.all([
      tryForAccount(
        session,
        (options) => fetchAction(api.reporter.sendOwn, {}, options),
        "usage_not_sent_before_plan_page",
      ),
      tryForAccount(
        session,
        async (options) => {
          planKey = (await fetchQuery(api.signIn.me, {}, options))?.planKey ?? null;
        },
        "plan_not_read_before_plan_page",
      ),
    ]);
  }
  const query = new URLSearchParams({ subNav: "plan_selection", returnUrl: `${site}/app/plan/return` });
  const response = NextResponse.redirect(`${site}/api/auth/portal?${query.toString()}`);
  // Whoever comes back is told what has changed. In a cookie, because a provider may know the way back by its exact text.
  if (planKey !== null) response.cookies.set(PLAN_BEFORE_COOKIE, planKey, planBeforeOptions(site));
  return response;
}
