import { assert } from "../shared/assert.ts";

/*
 * The codes of short links. One rule for all of them: 1 to 64 characters out of A-Z a-z 0-9 _ and -, kept and resolved
 * exactly as typed, so `ABC` and `abc` are two codes and what is shown is what resolves. No other letters: two texts
 * that look alike and differ would be two links, and a code travels through mail, print and dictation.
 */

export const CODE_CHARS_MAX = 64;

/**
 * Letters and digits of random codes, in lower case so that they can be dictated. Without 0 and o, 1, i and l, which
 * are mistaken for each other, and without the other vowels, so that no word comes out by chance.
 */
export const CODE_ALPHABET = "23456789bcdfghjkmnpqrstvwxyz";

/** 28 to the power of 7 is 13.5 thousand million: with ten million links a new code is taken once in 1,350 tries. */
export const RANDOM_CODE_CHARS = 7;

/**
 * First path segments that are the application's own, now or in all likelihood later. A test derives the ones in use
 * from the routes under `app/` and fails when one is missing here.
 */
export const RESERVED_CODES: readonly string[] = [
  "_next",
  "account",
  "admin",
  "api",
  "app",
  "assets",
  "billing",
  "callback",
  "dashboard",
  "docs",
  "forbidden",
  "health",
  "help",
  "login",
  "logout",
  "not-found",
  "ops",
  "privacy",
  "public",
  "register",
  "settings",
  "sign-in",
  "sign-out",
  "sign-up",
  "signin",
  "signout",
  "signup",
  "static",
  "status",
  "support",
  "terms",
  "www",
];

const RESERVED = new Set(RESERVED_CODES);
const CODE = new RegExp(`^[A-Za-z0-9_-]{1,${CODE_CHARS_MAX}}$`);

export type CodeRefusalCode = "empty" | "too_long" | "character" | "reserved";

export type CheckedCode =
  | { readonly kind: "ok"; readonly code: string }
  | {
      readonly kind: "refused";
      readonly code: CodeRefusalCode;
      /** Fit to follow the name of the field. */
      readonly message: string;
      /** Which character is at fault, counted in characters from 1. */
      readonly position?: number;
    };

/** Judges a code that a customer chose. One that is accepted is the text as typed. Whether it is free is not asked here. */
export function checkCustomCode(typed: string): CheckedCode {
  if (typed === "") return { kind: "refused", code: "empty", message: "must not be empty" };
  if (typed.length > CODE_CHARS_MAX) {
    const message = `must have at most ${CODE_CHARS_MAX} characters`;
    return { kind: "refused", code: "too_long", message };
  }
  const fault = /[^A-Za-z0-9_-]/u.exec(typed);
  if (fault !== null) {
    const position = Array.from(typed.slice(0, fault.index)).length + 1;
    const message = `may have letters A to Z, digits, - and _ only (character ${position})`;
    return { kind: "refused", code: "character", message, position };
  }
  // In any case: `API` beside /api would be a trap for whoever types it.
  if (RESERVED.has(typed.toLowerCase())) {
    return { kind: "refused", code: "reserved", message: "is a word this site keeps for itself" };
  }
  return { kind: "ok", code: typed };
}

/** Could a path segment be a code? Spares a look-up for everything that cannot, reserved words among it. */
export function isCode(segment: string): boolean {
  return CODE.test(segment) && !RESERVED.has(segment.toLowerCase());
}

/** One draw of 16 bytes is too short for 7 letters with a chance under 10^-13, so this many never are. */
const DRAWS_MAX = 4;
const DRAW_BYTES = 16;

/**
 * A random code. `randomBytes` gives that many unpredictable bytes. Bytes past the last whole multiple of the alphabet
 * are thrown away, so every letter is equally likely. Throws `AssertionError` when the bytes are not random at all.
 */
export function randomCode(randomBytes: (count: number) => Uint8Array): string {
  const fairBelow = 256 - (256 % CODE_ALPHABET.length);
  let code = "";
  for (let draw = 0; draw < DRAWS_MAX; draw++) {
    for (const byte of randomBytes(DRAW_BYTES)) {
      if (byte < fairBelow) code += CODE_ALPHABET[byte % CODE_ALPHABET.length];
      if (code.length === RANDOM_CODE_CHARS) return code;
    }
  }
  assert(false, `${DRAWS_MAX * DRAW_BYTES} random bytes gave ${code.length} letters`);
}

/** The address of a code under the base URL of short links, which may end in a slash or not. */
export function shortUrl(baseUrl: string, code: string): string {
  return `${baseUrl.replace(/\/+$/, "")}/${code}`;
}
