import { fetchAction } from "convex/nextjs";
import { NextResponse } from "next/server";
import { api } from "../../../../convex/_generated/api";
import { readSession } from "../../../session.ts";
import { tryForAccount } from "../account-action.ts";

export const dynamic = "force-dynamic";

/**
 * Where the plan page sends the customer back to: the limit is read anew, so that the new plan counts at once. If that
 * fails, the next admission finds the limit too old by itself.
 */
export async function GET(): Promise<Response> {
  const site = process.env.KINDE_SITE_URL ?? "";
  const session = await readSession();
  if (session === null) return NextResponse.redirect(`${site}/api/auth/login?post_login_redirect_url=/app`);
  await tryForAccount(
    session,
    (options) => fetchAction(api.limits.refreshNow, {}, options),
    "limit_refresh_failed",
  );
  return NextResponse.redirect(`${site}/app`);
}
