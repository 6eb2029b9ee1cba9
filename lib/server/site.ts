const SCREENS = /^\/(?:app|ops|api\/auth)(?:\/|$)/;

/**
 * Where a request for a screen should have gone, when it came in under another host than the site's own: sign-in keeps
 * its state in cookies of that host, so a sign-in that starts elsewhere (127.0.0.1 instead of localhost) cannot end.
 * Null when the host is right, the site's own is not known, or it is no screen at all.
 */
export function siteRedirect(
  host: string | null,
  target: { readonly pathname: string; readonly search: string },
  siteUrl: string | undefined,
): string | null {
  if (!SCREENS.test(target.pathname) || host === null || siteUrl === undefined || !URL.canParse(siteUrl))
    return null;
  const site = new URL(siteUrl);
  if (site.host === host.toLowerCase()) return null;
  return `${site.origin}${target.pathname}${target.search}`;
}

/**
 * The origin that a request came to, as the reader of an answer would type it. A client writes the Host header, so one
 * that is no host gets the site's own address instead.
 */
export function originOf(headers: Pick<Headers, "get">, siteUrl: string): string {
  const host = headers.get("host") ?? "";
  const isSecure = headers.get("x-forwarded-proto") === "https";
  return /^[\w.-]+(?::\d{1,5})?$|^\[[\da-f:]+\](?::\d{1,5})?$/i.test(host)
    ? `${isSecure ? "https" : "http"}://${host}`
    : new URL(siteUrl).origin;
}
