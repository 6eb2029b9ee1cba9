import { createHash } from "node:crypto";
import type { PlainResponse } from "./http.ts";

/** A small page of words for answers that are no screen of the app: no script, nothing loaded, light and dark. */
export interface Notice {
  readonly status: number;
  readonly title: string;
  /** Plain text; nothing that somebody typed belongs here, since it is not escaped. */
  readonly text: string;
  readonly links: readonly { readonly href: string; readonly name: string }[];
  readonly headers?: Readonly<Record<string, string>>;
}

const STYLE = [
  ":root{color-scheme:light dark;--page:#f7f7f5;--ink:#1c1d1f;--muted:#5a5d63;--accent:#0b5f66}",
  "@media(prefers-color-scheme:dark){:root{--page:#121416;--ink:#eceded;--muted:#a5abb2;--accent:#6fcfd6}}",
  "body{margin:0;background:var(--page);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}",
  "main{max-width:40rem;margin:0 auto;padding:20vh 1.25rem 2rem}",
  "h1{font-size:1.75rem;line-height:1.2;margin:0 0 1rem}p{margin:0 0 1rem}.code{color:var(--muted)}",
  "a{color:var(--accent);text-underline-offset:.25em}:focus-visible{outline:2px solid var(--accent)}",
].join("");

/** Nothing but this very style: a page made here loads, runs and submits nothing, whatever ends up in it. */
export const NOTICE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Neither a browser nor a proxy may keep it. */
export const NO_STORE = "private, no-store";

export function noticePage({ status, title, text, links, headers }: Notice): PlainResponse {
  const anchors = links.map(({ href, name }) => `<p><a href="${href}">${name}</a></p>`);
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<p class="code">${status}</p>
<h1>${title}</h1>
<p>${text}</p>
${anchors.join("\n")}
</main>
</body>
</html>
`;
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": NOTICE_POLICY,
      "cache-control": NO_STORE,
      "x-content-type-options": "nosniff",
      ...headers,
    },
    text: html,
  };
}

/** For whoever asks for /ops without the operator permission. */
export const NOT_AN_OPERATOR: PlainResponse = noticePage({
  status: 403,
  title: "This part is for operators",
  text: "You are signed in, but your token does not carry the permission operate:holdfast. A permission that was granted a moment ago counts from your next sign-in.",
  links: [
    { href: "/app", name: "Go to your account" },
    { href: "/api/auth/logout", name: "Sign out" },
  ],
});
