import type { FieldError } from "../shared/problem.ts";
import { checkUnits } from "../shared/units.ts";
import { acceptTarget, type ShortLinks } from "./short-links.ts";

export const TITLE_CHARS_MAX = 200;
/** A link that may never be billed would be over its cap before its first click. */
export const CAP_UNITS_MIN = 1;

/** What a customer gives for a link. What is undefined is not given; null takes away. */
export interface LinkFields {
  readonly target?: string | undefined;
  readonly title?: string | undefined;
  readonly capUnits?: number | null | undefined;
  readonly overCapTarget?: string | null | undefined;
}

/** As the row of a link has them. */
export interface StoredLinkFields {
  readonly location?: string;
  readonly displayHost?: string;
  readonly title?: string;
  readonly capUnits?: number | null;
  readonly overCapLocation?: string | null;
}

export type CheckedLinkFields =
  | { readonly kind: "ok"; readonly fields: StoredLinkFields }
  | { readonly kind: "refused"; readonly errors: readonly FieldError[] };

/** The one judge of what is given for a link, by form, by API and in an edit. All faults are named at once. */
export function checkLinkFields(given: LinkFields, shortLinks: ShortLinks): CheckedLinkFields {
  const { target, title, capUnits, overCapTarget } = given;
  const errors: FieldError[] = [];
  const targetOf = (path: string, typed: string) => {
    const accepted = acceptTarget(path, typed, shortLinks);
    if (accepted.kind === "ok") return accepted.target;
    errors.push(accepted.error);
    return null;
  };
  const fields: { -readonly [Name in keyof StoredLinkFields]: StoredLinkFields[Name] } = {};
  if (target !== undefined) {
    const accepted = targetOf("target", target);
    if (accepted !== null) {
      fields.location = accepted.location;
      fields.displayHost = accepted.displayHost;
    }
  }
  if (title !== undefined) {
    const fault = titleFault(title);
    if (fault === null) fields.title = title;
    else errors.push({ path: "title", message: fault });
  }
  if (capUnits !== undefined) {
    const refusal = capUnits === null ? null : checkUnits("capUnits", capUnits, { minimum: CAP_UNITS_MIN });
    if (refusal === null) fields.capUnits = capUnits;
    else errors.push({ path: "capUnits", message: refusal.message });
  }
  if (overCapTarget !== undefined) {
    const accepted = overCapTarget === null ? null : targetOf("overCapTarget", overCapTarget);
    fields.overCapLocation = accepted?.location ?? null;
  }
  return errors.length === 0 ? { kind: "ok", fields } : { kind: "refused", errors };
}

function titleFault(title: string): string | null {
  if (title.length > TITLE_CHARS_MAX) return `title must have at most ${TITLE_CHARS_MAX} characters`;
  return /\p{Cc}/u.test(title) ? "title must not hold control characters" : null;
}
