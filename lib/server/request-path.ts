/** What a request asks for, as both the routes of the front door and Next take it. */
export type RequestPath =
  | {
      readonly kind: "plain";
      /** Spelt in the one way there is: no escape, no empty segment, none of dots alone, no slash at the end. */
      readonly pathname: string;
      /** With its question mark; empty without a query. */
      readonly search: string;
    }
  /** Another spelling of a plain path, which is given with its query. */
  | { readonly kind: "moved"; readonly to: string }
  /** Nothing here has such a path. */
  | { readonly kind: "none" };

/** The characters that a path may hold as they are (RFC 3986, section 3.3). `.` and `..` are steps, not names. */
const PLAIN = /^(?:\/(?!\.\.?(?:\/|$))[\w.~!$&'()*+,;=:@-]+)+$/;
const ESCAPE = /%[0-9A-Fa-f]{2}/g;
/** What means the same with and without an escape (RFC 3986, section 2.3). */
const UNRESERVED = /[\w.~-]/;

const NEXT_OWN = "/_next/";
const NEXT_FILES = "/_next/static/";

/**
 * Reads the target of a request, before anything is decided by it. Next finds its routes under many spellings of their
 * paths; it is only handed the plain one, so that what a route of the front door does not match is not served behind it
 * either. Of Next's own folder our pages ask for files alone: the rest of it leads to other paths.
 */
export function readPath(target: string): RequestPath {
  const queryAt = target.indexOf("?");
  const pathname = queryAt === -1 ? target : target.slice(0, queryAt);
  const search = queryAt === -1 ? "" : target.slice(queryAt);
  if (isPlain(pathname)) {
    const isClosed = pathname.startsWith(NEXT_OWN) && !pathname.startsWith(NEXT_FILES);
    return isClosed ? { kind: "none" } : { kind: "plain", pathname, search };
  }
  const plain = pathname.startsWith("/") ? respelt(pathname) : "";
  return isPlain(plain) ? { kind: "moved", to: plain + search } : { kind: "none" };
}

function isPlain(pathname: string): boolean {
  return pathname === "/" || PLAIN.test(pathname);
}

/** The plain spelling as browsers make it: one round of escapes, backslashes as slashes, steps taken. */
function respelt(pathname: string): string {
  const decoded = pathname.replace(ESCAPE, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return UNRESERVED.test(character) ? character : escape;
  });
  const segments: string[] = [];
  for (const segment of decoded.split(/[/\\]/)) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  return `/${segments.join("/")}`;
}
