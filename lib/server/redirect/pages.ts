import type { PlainResponse } from "../http.ts";
import { type Notice, noticePage } from "../notice-page.ts";

/** The answer to HEAD: the headers that GET would get, and no body. */
export function withoutBody({ status, headers, text }: PlainResponse): PlainResponse {
  if (text === null) return { status, headers, text };
  return { status, headers: { ...headers, "content-length": String(Buffer.byteLength(text)) }, text: null };
}

const linkPage = (notice: Omit<Notice, "links">): PlainResponse =>
  noticePage({ ...notice, links: [{ href: "/", name: "Go to the start page" }] });

/** The pages are the same for everybody: they name neither the code nor the link. */
export const PAGES = {
  notFound: linkPage({
    status: 404,
    title: "There is no such link",
    text: "The address may have a typing error. Short links tell capital letters from small ones.",
  }),
  gone: linkPage({
    status: 410,
    title: "This link no longer leads anywhere",
    text: "Whoever made it has turned it off, or it has been used as often as it may be.",
  }),
  methodNotAllowed: linkPage({
    status: 405,
    title: "A short link can only be followed",
    text: "Open it in a browser: it answers GET and HEAD, and nothing else.",
    headers: { allow: "GET, HEAD" },
  }),
  unavailable: linkPage({
    status: 503,
    title: "This link cannot be looked up right now",
    text: "Nothing is lost. Please try again in a moment.",
    headers: { "retry-after": "2" },
  }),
  notRecorded: linkPage({
    status: 503,
    title: "This link cannot be followed right now",
    text: "The visit could not be recorded, so it was not begun. Please try again in a moment.",
    headers: { "retry-after": "5" },
  }),
} as const;
