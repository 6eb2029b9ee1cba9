import { fetchAction } from "convex/nextjs";
import { NextResponse } from "next/server";
import { api } from "../../../../convex/_generated/api";
import { readSession } from "../../../session.ts";

export const dynamic = "force-dynamic";

/** Where the plan page sends the customer back to: the limit is read anew, so that the new plan counts at once. */
export async function GET(): Promise<Response> {
  const site = process.env.KINDE_SITE_URL ?? "";
  const session = await readSession();
  if (session === null) return NextResponse.redirect(`${site}/api/auth/login?post_login_redirect_url=/app`);
  try {
    const options = { url: process.env.CONVEX_URL ?? "", token: session.accessToken };
    await fetchAction(api.limits.refreshNow, {}, options);
  } catch (error) {
    // The next admission finds the limit too old by itself; the customer is not kept from the screen for it.
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${JSON.stringify({ event: "limit_refresh_failed", message })}\n`);
  }
  return NextResponse.redirect(`${site}/app`);
}
