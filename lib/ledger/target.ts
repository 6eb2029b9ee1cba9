/*
 * Where a short link may point, and what is sent as `Location`. The form, the API, an edit and the redirect itself all
 * ask here, so what was stored under an older rule is judged again before anybody is sent there.
 *
 * The scheme and the host are written as the WHATWG parser understands them. Everything after the host, the port
 * included, is kept as it was typed: `URL.href` would add a slash, drop `:443`, resolve dots and re-encode quotes, and
 * servers exist that tell those spellings apart. Only what is not ASCII is percent-encoded there, because a header
 * cannot carry it.
 */

/** The longest target, in characters, as typed and as sent. What browsers and proxies are known to bear. */
export const TARGET_CHARS_MAX = 2048;

export interface Target {
  /** The value of the `Location` header: ASCII. Checking it again gives the same value. */
  readonly location: string;
  /** The host for a person, in Unicode if it was typed so. */
  readonly displayHost: string;
  /** The host as it is asked for: lower case, punycode, numbers of an address in their usual form. */
  readonly asciiHost: string;
}

export type TargetRefusalCode =
  | "empty"
  | "too_long"
  | "character"
  | "scheme"
  | "userinfo"
  | "backslash"
  | "host"
  | "own_host";

export interface TargetRefused {
  readonly kind: "refused";
  readonly code: TargetRefusalCode;
  /** Fit to follow the name of the field: "must start with http:// or https://". */
  readonly message: string;
  /** Which character is at fault, counted in characters from 1. */
  readonly position?: number;
}

export type CheckedTarget = { readonly kind: "ok"; readonly target: Target } | TargetRefused;

/**
 * Judges one target. `ownHosts` are the hosts this application answers on, as host names or as URLs; a target there
 * would send visitors in a circle, so it is refused whatever its port and spelling. Where one of them is this machine
 * itself, every name of this machine counts. Never throws for any text.
 */
export function checkTarget(typed: string, ownHosts: readonly string[]): CheckedTarget {
  if (typed === "") return refused("empty", "must not be empty");
  if (typed.length > TARGET_CHARS_MAX) return tooLong(typed.length);
  const fault = findFault(typed, FORBIDDEN);
  if (fault !== null) return forbidden(fault);

  const parts = /^(https?):\/\/([^/?#\\]*)(.*)$/is.exec(typed);
  if (parts === null) return refused("scheme", "must start with http:// or https://");
  const [, scheme = "", authority = "", afterAuthority = ""] = parts;
  if (authority.includes("@")) {
    return refused("userinfo", "must not carry a user name or password in front of the host");
  }
  // Browsers read it as a slash, other clients as part of a user name: two hosts in one text.
  if (afterAuthority.startsWith("\\"))
    return refused("backslash", "must not have a backslash after the host");
  const [, typedHost = "", port = ""] = /^(\[[^\]]*\]|[^:]*)(.*)$/s.exec(authority) ?? [];
  if (typedHost === "") return refused("host", "must name a host");
  const hidden = findFault(typedHost, /\p{Cf}/u);
  if (hidden !== null) {
    // Scheme, colon and slashes are ASCII, so lengths are positions.
    return hiddenInHost({ ...hidden, position: scheme.length + 3 + hidden.position });
  }

  const asciiHost = hostOf(`${scheme}://${typedHost}${port}`);
  if (asciiHost === null) return refused("host", "must name a host and port that exist in URLs");
  if (isOwnHost(asciiHost, ownHosts)) return refused("own_host", "must not lead back to this site");

  const location = `${scheme.toLowerCase()}://${asciiHost}${port}${encodeNonAscii(afterAuthority)}`;
  if (location.length > TARGET_CHARS_MAX) return tooLong(location.length);
  return { kind: "ok", target: { location, asciiHost, displayHost: displayHostOf(typedHost, asciiHost) } };
}

/** Controls, every kind of space, and halves of characters, which no URL can carry. */
const FORBIDDEN = /[\p{Cc}\p{Zs}\p{Zl}\p{Zp}\p{Cs}]/u;

interface Fault {
  readonly character: string;
  readonly position: number;
}

/** The first character that a pattern of single characters matches. */
function findFault(text: string, pattern: RegExp): Fault | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  return { character: match[0], position: Array.from(text.slice(0, match.index)).length + 1 };
}

function forbidden({ character, position }: Fault): TargetRefused {
  const message = `must not contain ${nameOf(character)} (character ${position}); spaces are written %20`;
  return { kind: "refused", code: "character", message, position };
}

function hiddenInHost({ character, position }: Fault): TargetRefused {
  const message =
    `must not contain the invisible ${nameOf(character)} in the host (character ${position}); ` +
    "give the host in its xn-- form";
  return { kind: "refused", code: "character", message, position };
}

function nameOf(character: string): string {
  const known: Record<string, string> = { " ": "a space", "\t": "a tab", "\r": "CR", "\n": "LF" };
  const hex = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
  return known[character] ?? `U+${hex}`;
}

/** The host of `scheme://host:port` as the parser writes it, without dots at the end alone; null when it has none. */
function hostOf(origin: string): string | null {
  try {
    // Not `URL.canParse`: some runtimes that this is bundled for lack it.
    const { hostname } = new URL(origin);
    return withoutRootDot(hostname) === "" ? null : hostname;
  } catch {
    return null;
  }
}

function isOwnHost(asciiHost: string, ownHosts: readonly string[]): boolean {
  const asked = withoutRootDot(asciiHost);
  return ownHosts.some((own) => {
    const host = withoutRootDot(hostOf(own.includes("://") ? own : `http://${own}`) ?? own.toLowerCase());
    return host === asked || (isThisMachine(host) && isThisMachine(asked));
  });
}

/** `example.com.` is `example.com`, said absolutely. */
function withoutRootDot(hostname: string): string {
  return hostname.replace(/\.+$/, "");
}

/** The names of the machine itself, in the spellings that the parser leaves. */
function isThisMachine(hostname: string): boolean {
  return (
    /(^|\.)localhost$/.test(hostname) ||
    /^(127\.\d+\.\d+\.\d+|0\.0\.0\.0)$/.test(hostname) ||
    /^\[(::1?|::ffff:(7f[0-9a-f]{2}:[0-9a-f]{1,4}|0:0))\]$/.test(hostname)
  );
}

/** Unicode is shown only where the parser reads the same host from it, else the form that is asked for. */
function displayHostOf(typedHost: string, asciiHost: string): string {
  if (/^\p{ASCII}*$/u.test(typedHost)) return asciiHost;
  const shown = typedHost.normalize("NFC").toLowerCase();
  return hostOf(`http://${shown}`) === asciiHost ? shown : asciiHost;
}

function encodeNonAscii(text: string): string {
  return text.replace(/\P{ASCII}+/gu, encodeURIComponent);
}

function refused(code: TargetRefusalCode, message: string): TargetRefused {
  return { kind: "refused", code, message };
}

function tooLong(chars: number): TargetRefused {
  return refused(
    "too_long",
    `must have at most ${TARGET_CHARS_MAX} characters, other letters than ASCII percent-encoded; it has ${chars}`,
  );
}
