import { isbotMatch } from "isbot";

/*
 * What a click counts for. Every click that reaches a link is stored; one that no person made, or that led nowhere, is
 * stored with 0 units and the rule that matched. The rules in their order, the first that matches decides:
 *
 *   1. inactive   the link was disabled or deleted at the instant of the click
 *   2. head       the method is HEAD
 *   3. prefetch   a header says that a browser fetched ahead of its user
 *   4. bot        there is no agent, or `isbot` knows it
 *   5. over_cap   the link had as many billable clicks as its cap allows
 *
 * The cap comes last, since only a click that would have been billed can be one too many. Rules 2 to 4 are seen in the
 * request (`classifyRequest`); 1 and 5 need the link as it is when the click is written (`classifyClick`), which is
 * what makes billing at the cap exact while the redirect answers from a cache.
 */

export type ClickClass = "billable" | "inactive" | "head" | "prefetch" | "bot" | "over_cap";

/** Agent and referrer are cut to this many characters before anything looks at them: a header may have 64 KB. */
export const AGENT_CHARS_MAX = 512;
export const REFERRER_CHARS_MAX = 512;
const PURPOSE_CHARS_MAX = 128;
/** Of an agent that was recognised, this much is quoted in the rule. */
const RULE_QUOTE_CHARS_MAX = 64;

/** In the order in which they are looked at. `X-Moz` is old Firefox's, `X-Purpose` old Safari's. */
const PURPOSE_HEADERS = ["sec-purpose", "purpose", "x-purpose", "x-moz"] as const;
const AHEAD_OF_USER = new Set(["prefetch", "prerender", "preview"]);

export interface Verdict {
  readonly class: ClickClass;
  /** The rule that matched, for "why was this billed": `isbot: Googlebot`, `sec-purpose: prefetch`. */
  readonly rule: string;
}

/** What is kept of the request of a click, and its class as far as a request shows it. No address of the visitor. */
export interface RequestFacts extends Verdict {
  readonly agent: string | null;
  readonly referrer: string | null;
}

interface ClickRequest {
  readonly method: string;
  readonly headers: { get(name: string): string | null };
}

/** Rules 2 to 4 for a request, such as a `Request` itself. Takes the same short time however long its headers are. */
export function classifyRequest(request: ClickRequest): RequestFacts {
  const agent = cut(request.headers.get("user-agent"), AGENT_CHARS_MAX);
  const referrer = cut(request.headers.get("referer"), REFERRER_CHARS_MAX);
  return { agent, referrer, ...requestVerdict(request, agent) };
}

function requestVerdict({ method, headers }: ClickRequest, agent: string | null): Verdict {
  if (method.toUpperCase() === "HEAD") return { class: "head", rule: "method: HEAD" };
  for (const name of PURPOSE_HEADERS) {
    const value = cut(headers.get(name), PURPOSE_CHARS_MAX)?.toLowerCase() ?? "";
    const purpose = value.split(/[;,\s]+/).find((word) => AHEAD_OF_USER.has(word));
    if (purpose !== undefined) return { class: "prefetch", rule: `${name}: ${purpose}` };
  }
  if (agent === null) return { class: "bot", rule: "no agent" };
  const known = isbotMatch(agent);
  if (known !== null) return { class: "bot", rule: `isbot: ${cut(known, RULE_QUOTE_CHARS_MAX)}` };
  return { class: "billable", rule: "no rule against it" };
}

/** What the visitor was answered: one of the two targets, or a page that says the link is gone. */
export type Served = "target" | "over_cap_target" | "inactive_page" | "over_cap_page";

/** The link when the click is written, read in the same transaction. */
export interface LinkState {
  /** Since when the link is disabled or deleted; null while it is active. */
  readonly inactiveSinceMs: number | null;
  /** Billable clicks that the link may have; null for any number. */
  readonly capUnits: number | null;
  /** Billable clicks that it has, before this one. */
  readonly billedUnits: number;
}

/**
 * The final class, which decides the units. The instant of the click counts, not of its writing: a link disabled in
 * between was active for its visitor. What the visitor was answered counts too, so that nobody pays for a click that
 * ended on another page than the target, whatever the link allows by now.
 */
export function classifyClick(
  click: { readonly atMs: number; readonly served: Served; readonly seen: Verdict },
  link: LinkState,
): Verdict {
  const { inactiveSinceMs, capUnits, billedUnits } = link;
  if (click.served === "inactive_page" || (inactiveSinceMs !== null && click.atMs >= inactiveSinceMs)) {
    return { class: "inactive", rule: "link inactive" };
  }
  if (click.seen.class !== "billable") return click.seen;
  if (capUnits !== null && billedUnits >= capUnits) {
    return { class: "over_cap", rule: `cap: ${billedUnits} of ${capUnits} billed` };
  }
  if (click.served !== "target") return { class: "over_cap", rule: "cap: answered as over the cap" };
  return click.seen;
}

/** The units that a click of a class is booked with. */
export function unitsOf(clickClass: ClickClass): 0 | 1 {
  return clickClass === "billable" ? 1 : 0;
}

/** Null for what says nothing. A character of two halves is not cut through, since half of one cannot be stored. */
function cut(text: string | null, charsMax: number): string | null {
  if (text === null) return null;
  const kept = text.slice(0, charsMax).trim();
  if (kept === "") return null;
  return /[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept;
}
