import type { FieldError } from "../shared/problem.ts";
import { checkTarget, type Target } from "./target.ts";

/** Where short links live, and which hosts they may not lead back to. */
export interface ShortLinks {
  /** The address that codes are put behind. */
  readonly baseUrl: string;
  readonly ownHosts: readonly string[];
}

/**
 * Reads the settings of short links: `HOLDFAST_SHORT_URL`, where it is not set the site's own `KINDE_SITE_URL`. Both
 * hosts are the application's own. Throws an Error that names the variable when there is no usable one.
 */
export function shortLinksFrom(shortUrl: string | undefined, siteUrl: string | undefined): ShortLinks {
  const own = [shortUrl, siteUrl].filter((url) => url !== undefined && url !== "") as string[];
  const [baseUrl] = own;
  if (baseUrl === undefined) throw new Error("HOLDFAST_SHORT_URL is not set");
  for (const url of own) {
    if (!/^https?:\/\/[^?#]+$/.test(url) || !URL.canParse(url)) {
      throw new Error(`the base of short links and the site must be http or https URLs, not ${url}`);
    }
  }
  return { baseUrl, ownHosts: own };
}

export type AcceptedTarget =
  | { readonly kind: "ok"; readonly target: Target }
  | { readonly kind: "refused"; readonly error: FieldError };

/** The target rule for a field of a form or a request. */
export function acceptTarget(path: string, typed: string, { ownHosts }: ShortLinks): AcceptedTarget {
  const checked = checkTarget(typed, ownHosts);
  if (checked.kind === "ok") return checked;
  return { kind: "refused", error: { path, message: `${path} ${checked.message}` } };
}

/** Whether a stored `Location` would be accepted, and stored as it is, today. */
export function isTargetStill(location: string, { ownHosts }: ShortLinks): boolean {
  const checked = checkTarget(location, ownHosts);
  return checked.kind === "ok" && checked.target.location === location;
}
