import type { PlainRequest } from "./http.ts";

/**
 * The sign-in SDK keeps the access token in cookies of at most 3,000 characters: access_token, access_token1, … Ours
 * are well under ten of them; Node's limit on headers bounds them anyway.
 */
const COOKIE = "access_token";
const PARTS_MAX = 10;

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * The access token of the signed-in session that sent this request, as it stands in its cookies; null when there is
 * none. Nothing is verified or renewed here: the backend checks the token, and the screens renew it.
 */
export function readSessionToken(request: PlainRequest): string | null {
  const cookies = new Map<string, string>();
  for (const pair of (request.headers.get("cookie") ?? "").split(";")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(at, 0)).trim();
    // As with every reader of cookies the first of a name counts.
    if (name.startsWith(COOKIE) && !cookies.has(name)) cookies.set(name, pair.slice(at + 1).trim());
  }
  let token = "";
  for (let part = 0; part < PARTS_MAX; part += 1) {
    const value = cookies.get(part === 0 ? COOKIE : `${COOKIE}${part}`);
    if (value === undefined) break;
    token += value;
  }
  return JWT.test(token) ? token : null;
}

/**
 * False when the browser says that another site, or another origin of this one, started the request. A person who
 * opens the address (`none`) and a client that says nothing may: neither gives an answer to anybody else.
 */
export function isOwnRequest({ headers }: Pick<PlainRequest, "headers">): boolean {
  const site = headers.get("sec-fetch-site");
  return site === null ? isOwnOrigin(headers) : site === "same-origin" || site === "none";
}

/** The same for what changes something: that is asked for by a page, never by an address that somebody opens. */
export function isOwnAct({ headers }: Pick<PlainRequest, "headers">): boolean {
  const site = headers.get("sec-fetch-site");
  return site === null ? isOwnOrigin(headers) : site === "same-origin";
}

/**
 * For browsers that do not send Sec-Fetch-Site. The host that was asked is the own one here: a browser whose user was
 * led here under another name sends none of this site's cookies.
 */
function isOwnOrigin(headers: PlainRequest["headers"]): boolean {
  const origin = headers.get("origin");
  if (origin === null) return true;
  return URL.canParse(origin) && new URL(origin).host === headers.get("host")?.toLowerCase();
}
