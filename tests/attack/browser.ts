/** What a browser does with redirects and cookies, without one: enough to sign in over HTTP. */

export interface Visit {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where it ended. */
  readonly url: string;
}

/** More redirects than any sign-in has; a loop ends here. */
const REDIRECTS_MAX = 15;

export class Browser {
  /** By host and port, since every part of the stack here is on one machine. */
  readonly #jars = new Map<string, Map<string, string>>();
  /** Every Set-Cookie line that came, in order. */
  readonly cookieLines: string[] = [];

  /** The cookies of an address, as its request carries them. */
  cookiesOf(url: string): ReadonlyMap<string, string> {
    return this.#jars.get(new URL(url).host) ?? new Map();
  }

  /** Asks once and follows nothing. */
  async ask(url: string, init: RequestInit = {}): Promise<Visit> {
    const headers = new Headers(init.headers);
    const cookies = [...this.cookiesOf(url)].map(([name, value]) => `${name}=${value}`);
    if (cookies.length > 0) headers.set("cookie", cookies.join("; "));
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    this.#keep(url, response.headers.getSetCookie());
    return { status: response.status, headers: response.headers, text: await response.text(), url };
  }

  /** Asks, and goes where it is sent. */
  async visit(url: string, init: RequestInit = {}): Promise<Visit> {
    let answer = await this.ask(url, init);
    for (let count = 0; count < REDIRECTS_MAX; count += 1) {
      const location = answer.headers.get("location");
      if (answer.status < 300 || answer.status > 399 || location === null) return answer;
      answer = await this.ask(new URL(location, answer.url).href);
    }
    throw new Error(`redirected without end: ${answer.url}`);
  }

  #keep(url: string, lines: readonly string[]): void {
    const { host } = new URL(url);
    const jar = this.#jars.get(host) ?? new Map<string, string>();
    this.#jars.set(host, jar);
    for (const line of lines) {
      this.cookieLines.push(line);
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      const [name, value] = [pair.slice(0, at).trim(), pair.slice(at + 1)];
      if (value === "" || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
  }
}

/** Signs a new person up on the emulator's page, and ends on `target` of the site. */
export async function signUpOverHttp(
  siteUrl: string,
  person: { readonly email: string; readonly isOperator?: boolean },
  target = "/app",
): Promise<Browser> {
  const browser = new Browser();
  const page = await browser.visit(`${siteUrl}${target}`);
  const action = /action="([^"]+)"/.exec(page.text)?.[1]?.replaceAll("&#38;", "&").replaceAll("&amp;", "&");
  if (action === undefined) throw new Error(`no sign-in page: ${page.status} ${page.url}`);
  const form = new URLSearchParams({ given_name: "Ada", family_name: "Test", email: person.email });
  if (person.isOperator === true) form.set("operator", "on");
  const origin = new URL(page.url).origin;
  const done = await browser.visit(new URL(action, page.url).href, {
    method: "POST",
    body: form,
    headers: { origin },
  });
  if (!done.url.startsWith(siteUrl)) throw new Error(`the sign-in ended at ${done.url} with ${done.status}`);
  return browser;
}
