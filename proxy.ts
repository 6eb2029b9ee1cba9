import { randomBytes } from "node:crypto";
import { withAuth } from "@kinde-oss/kinde-auth-nextjs/middleware";
import { NextRequest, NextResponse } from "next/server";
import { livePolicy, sitePolicy } from "./lib/server/content-security.ts";
import { grantsOperator } from "./lib/kinde/permissions.ts";
import { NOT_AN_OPERATOR } from "./lib/server/notice-page.ts";
import { isOwnRequest } from "./lib/server/session-token.ts";
import { siteRedirect } from "./lib/server/site.ts";

/**
 * In front of the pages. Each gets a policy with a nonce of its own, so that no script runs but Next's. In front of the
 * screens it also sends whoever is not signed in to the sign-in, keeps tokens fresh, and answers 403 on /ops without
 * the operator permission; the pages and the Convex functions check again, so it is the first door, not the only one.
 * It never sees short links, the API or webhooks.
 */

interface Authorized extends NextRequest {
  readonly kindeAuth: { readonly token: { readonly permissions?: unknown } };
}

const authorized = withAuth(
  (request: Authorized) => {
    const { pathname } = request.nextUrl;
    const passed = { request: { headers: request.headers } };
    if (/^\/ops(?:\/|$)/.test(pathname) && !grantsOperator(request.kindeAuth.token.permissions)) {
      const { status, headers, text } = NOT_AN_OPERATOR;
      return new NextResponse(text, { status, headers });
    }
    return NextResponse.next(passed);
  },
  { isReturnToCurrentPage: true },
) as (request: NextRequest) => Promise<NextResponse>;

export async function proxy(request: NextRequest): Promise<NextResponse> {
  const elsewhere = siteRedirect(request.headers.get("host"), request.nextUrl, process.env.KINDE_SITE_URL);
  // Where Next takes every host for its own it would make this redirect relative, and so lead back here.
  if (elsewhere !== null && new URL(elsewhere).host !== request.nextUrl.host) {
    return NextResponse.redirect(elsewhere);
  }
  if (request.nextUrl.pathname.startsWith("/api/")) {
    // Only pages of this site sign people out.
    const isForeign = request.nextUrl.pathname === "/api/auth/logout" && !isOwnRequest(request);
    if (isForeign) return NextResponse.redirect(process.env.KINDE_SITE_URL ?? request.nextUrl.origin);
    return NextResponse.next();
  }

  const nonce = randomBytes(16).toString("base64");
  const development = { isDevelopment: process.env.NODE_ENV === "development" };
  const isScreen = /^\/(?:app|ops)(?:\/|$)/.test(request.nextUrl.pathname);
  const policy = isScreen
    ? livePolicy(nonce, process.env.CONVEX_URL ?? request.nextUrl.origin, development)
    : sitePolicy(nonce, development);
  // Next takes the nonce for its own scripts from the policy on the request.
  const headers = new Headers(request.headers);
  headers.set("content-security-policy", policy);
  const response = isScreen
    ? await authorized(new NextRequest(request, { headers }))
    : NextResponse.next({ request: { headers } });
  if (!response.headers.has("content-security-policy")) {
    response.headers.set("content-security-policy", policy);
  }
  response.headers.set("cache-control", "private, no-store");
  return response;
}

export const config = {
  matcher: [
    "/",
    "/app",
    "/docs",
    "/ops",
    "/api/auth/:path*",
    // Every other page, found or not, has two segments or more; a short link has one.
    "/((?!_next/|api/)[^/]+/.+)",
  ],
};
