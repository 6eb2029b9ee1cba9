import { NextResponse } from "next/server";

export const dynamic = "force-dynamic";

/**
 * The way to the plan page. It lies behind proxy.ts, which renews a token that is about to end: the provider's own
 * route does not, and sends people with an old one to the start page without a word.
 */
export function GET(): Response {
  const site = process.env.KINDE_SITE_URL ?? "";
  const query = new URLSearchParams({ subNav: "plan_selection", returnUrl: `${site}/app/plan/return` });
  return NextResponse.redirect(`${site}/api/auth/portal?${query.toString()}`);
}
