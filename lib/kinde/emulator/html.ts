/** HTML made safe by construction: every value put into a template is escaped, unless it is itself such HTML. */
import { Refusal, type Answer } from "./answers.ts";

export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | readonly Html[];

export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((text, index) => text + render(parts[index] ?? "")).join(""));
}

export const NOTHING = new Html("");

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map((item) => item.text).join("");
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `
:root{color-scheme:light dark;--line:#8886;--accent:light-dark(#1d4ed8,#93b4ff);--on:light-dark(#fff,#0b1020)}
*{box-sizing:border-box}
body{margin:0;font:1rem/1.5 system-ui,sans-serif;background:light-dark(#f6f6f8,#111318);color:light-dark(#16181d,#eceef2)}
main{max-width:34rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.4rem;line-height:1.25;margin:0 0 .25rem}h2{font-size:1.05rem;margin:2rem 0 .5rem}
p{margin:.25rem 0 1rem}ul{list-style:none;padding:0;margin:0;display:grid;gap:.5rem}
.note{color:light-dark(#555b66,#a9b0bd);font-size:.875rem}
.error{border-left:.25rem solid light-dark(#b42318,#ff9b8f);padding:.25rem .75rem}
label{display:block;margin:.75rem 0 .25rem}label.check{display:flex;gap:.5rem;align-items:center}
input[type=text],input[type=email]{width:100%;font:inherit;padding:.6rem;border:1px solid #888;border-radius:.4rem;background:light-dark(#fff,#1a1d24);color:inherit}
input[type=checkbox]{width:1.15rem;height:1.15rem}
button{font:inherit;min-height:2.75rem;padding:.5rem 1rem;border-radius:.4rem;border:1px solid var(--accent);background:var(--accent);color:var(--on);cursor:pointer}
button.row{width:100%;text-align:left;background:light-dark(#fff,#1a1d24);color:inherit;border-color:#888;overflow-wrap:anywhere}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}a{color:var(--accent)}
.card{border:1px solid #888;border-radius:.5rem;padding:1rem;background:light-dark(#fff,#1a1d24)}
.card ul{margin:.5rem 0 1rem;gap:.1rem}.actions{margin-top:1.25rem}strong{font-weight:600}
`;

/**
 * A whole page. `formTargets` are origins that its forms may end up at: a form post that is answered with a redirect
 * to the app counts as one.
 */
export function page(
  status: number,
  content: { readonly title: string; readonly main: Html; readonly formTargets?: string },
): Answer {
  const { title, main, formTargets = "" } = content;
  const body = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <title>${title}</title>
        <style>
          ${new Html(STYLE)}
        </style>
      </head>
      <body>
        <main>
          ${main}
          <p class="note">Kinde emulator on this machine. No real account is involved.</p>
        </main>
      </body>
    </html>`;
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": `default-src 'none'; style-src 'unsafe-inline'; form-action 'self' ${formTargets}; base-uri 'none'; frame-ancestors 'none'`,
      "x-content-type-options": "nosniff",
      // With no-referrer the browser would send "Origin: null" with the form.
      "referrer-policy": "same-origin",
    },
    body: body.text,
  };
}

/** A page that ends the flow. Redirecting an error back to the app would start it again: a loop (facts-sdk "Other traps"). */
export function pageRefusal(status: number, title: string, detail: string): Refusal {
  const main = html`<h1>${title}</h1>
    <p class="error" role="alert">${detail}</p>`;
  return new Refusal(page(status, { title, main }));
}
