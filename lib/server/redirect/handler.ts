import type { LogEvent } from "../deps.ts";
import type { Click, RequestFacts } from "./click.ts";
import { LinksUnavailableError } from "./link-cache.ts";
import type { ResolvedLink } from "./link.ts";
import type { PlainResponse } from "../http.ts";
import { NO_STORE } from "../notice-page.ts";
import { PAGES, withoutBody } from "./pages.ts";

/** The part of a request that a redirect looks at; a fetch `Request` has it. */
export interface RedirectRequest {
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  readonly headers: { get(name: string): string | null };
}

export interface RedirectDeps {
  /** Throws `LinksUnavailableError`. */
  readonly resolve: (code: string) => Promise<ResolvedLink | null>;
  /** Whether a decoded path segment can be a code at all: whatever else comes is not looked up. */
  readonly isCode: (segment: string) => boolean;
  /** The target rule, asked again at the redirect: a link stored before a rule was tightened does not pass. */
  readonly isAllowedTarget: (location: string) => boolean;
  readonly classify: (request: RedirectRequest) => RequestFacts;
  /** Resolves when the click is as safe as it can be made; false when no answer may go out for it. Never rejects. */
  readonly record: (click: Click) => Promise<boolean>;
  /** 128 random bits in hex. */
  readonly newKey: () => string;
  readonly nowMs: () => number;
  readonly log: (event: LogEvent) => void;
}

/** What a Location header may hold; a target that passed the target rule does. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

/**
 * Makes the handler of `/{code}`: 302 with the stored target, 410 for a link that leads nowhere, 404 for a code nobody
 * has, 503 when that cannot be known or the click cannot be kept. Every click on a known link is recorded once, before
 * the answer is handed out.
 */
export function createRedirectHandler(deps: RedirectDeps) {
  /** By link as it was read: another read is another object, so what is kept here is as old as the link itself. */
  const kept = new WeakMap<ResolvedLink, Served>();
  const servedFor = (link: ResolvedLink): Served => {
    const before = kept.get(link);
    if (before !== undefined) return before;
    const served = serve(link, deps);
    kept.set(link, served);
    return served;
  };
  return async (request: RedirectRequest): Promise<PlainResponse> => {
    // Before anything else: whatever is tried again later is tried under this key.
    const key = deps.newKey();
    const { method } = request;
    if (method !== "GET" && method !== "HEAD") return PAGES.methodNotAllowed;
    const code = codeOf(request.url, deps.isCode);
    const answer = code === null ? PAGES.notFound : await follow(code, key, request, deps, servedFor);
    return method === "HEAD" ? withoutBody(answer) : answer;
  };
}

async function follow(
  code: string,
  key: string,
  request: RedirectRequest,
  deps: RedirectDeps,
  servedFor: (link: ResolvedLink) => Served,
): Promise<PlainResponse> {
  const atMs = deps.nowMs();
  let link: ResolvedLink | null;
  try {
    link = await deps.resolve(code);
  } catch (error) {
    if (!(error instanceof LinksUnavailableError)) throw error;
    return PAGES.unavailable;
  }
  if (link === null) return PAGES.notFound;
  const { answer, served } = servedFor(link);
  const { linkId, accountId } = link;
  const isKept = await deps.record({ key, linkId, accountId, atMs, served, ...deps.classify(request) });
  return isKept ? answer : PAGES.notRecorded;
}

interface Served {
  readonly answer: PlainResponse;
  readonly served: Click["served"];
}

/** Where a link leads, if anywhere. One whose target is refused is served as an inactive one. */
function serve(link: ResolvedLink, deps: RedirectDeps): Served {
  if (!link.isActive) return { answer: PAGES.gone, served: "inactive_page" };
  const target = link.isOverCap ? link.overCapLocation : link.location;
  if (target === null) return { answer: PAGES.gone, served: "over_cap_page" };
  if (!HEADER_SAFE.test(target) || !deps.isAllowedTarget(target)) {
    deps.log({ event: "target_refused", linkId: link.linkId });
    return { answer: PAGES.gone, served: "inactive_page" };
  }
  return { answer: redirectTo(target), served: link.isOverCap ? "over_cap_target" : "target" };
}

function redirectTo(location: string): PlainResponse {
  // With a length the answer is one write; without one an empty body would be sent in chunks.
  return { status: 302, headers: { location, "cache-control": NO_STORE, "content-length": "0" }, text: null };
}

/** The code in `scheme://host/{code}?…`: one segment, percent-decoded. The query is nobody's business. */
function codeOf(url: string, isCode: RedirectDeps["isCode"]): string | null {
  const pathAt = url.indexOf("/", url.indexOf("://") + 3);
  if (pathAt === -1) return null;
  const [segment = ""] = url.slice(pathAt + 1).split(/[?#]/, 1);
  if (segment.includes("/")) return null;
  const code = segment.includes("%") ? decoded(segment) : segment;
  return code !== null && isCode(code) ? code : null;
}

/** Null for percent signs that encode nothing. */
function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
