import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { routes } from "../../lib/server/api/router.ts";
import { isOwnAct, isOwnRequest } from "../../lib/server/session-token.ts";

/**
 * What a cookie alone opens, and how each of it tells a page of this site from another one. `stack.test.ts` asks them
 * for real; a route that is new is missing here, which fails.
 */
const APP = join(import.meta.dirname, "../../app");
const sources = readdirSync(APP, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => [name, readFileSync(join(APP, name), "utf8")] as const);
const routeFiles = sources.filter(([name]) => name.endsWith("route.ts"));

/** By file: what tells its own pages from others. Null: no cookie is looked at, so there is nothing to forge. */
const GUARDS: Readonly<Record<string, RegExp | null>> = {
  "[code]/route.ts": null,
  // Signing in has the provider's state; signing out is refused to other sites by proxy.ts.
  "api/auth/[kindeAuth]/route.ts": /handleAuth\(\)/,
  "api/health/route.ts": null,
  "api/metrics/route.ts": null,
  "api/session/route.ts": /if \(!isOwnAct\(request\)\)/,
  // lib/server/api/caller.ts: a session may only read, and only from this site.
  "api/v1/[[...path]]/route.ts": /guarded\(handleApi\)/,
  "api/webhooks/kinde/route.ts": null,
  "app/plan/change/route.ts": /if \(!isOwnRequest\(request\)\)/,
  // The provider's page leads here, so it has to take people from another site. All it does is read the limit anew.
  "app/plan/return/route.ts": /limits\.refreshNow/,
  "ops/faults/control/route.ts": /!isOwnPage\(request\.headers\)/,
};

test("every route of app/ is listed", () => {
  expect(routeFiles.map(([name]) => name).toSorted()).toEqual(Object.keys(GUARDS).toSorted());
});

test.each(routeFiles)("%s: what looks at a session tells who asks", (name, source) => {
  const guard = GUARDS[name] ?? null;
  const looksAtSession = /readSession|readBrowserToken|handleAuth|handleApi|cookies\(/.test(source);
  expect(looksAtSession).toBe(guard !== null);
  expect(source).toMatch(guard ?? /./);
});

test("no server action: a form of another site has nothing to send to", () => {
  expect(sources.filter(([, source]) => /^\s*["']use server["']/m.test(source))).toEqual([]);
});

test("a session may only read", () => {
  const writing = routes.filter(({ method, acceptsSession }) => acceptsSession && method !== "GET");
  expect(writing).toEqual([]);
});

describe("who started a request", () => {
  const asked = (headers: Record<string, string>) => ({
    headers: new Headers({ host: "hold.example", ...headers }),
  });

  test.each<[name: string, headers: Record<string, string>, mayRead: boolean, mayAct: boolean]>([
    [
      "a page of this origin",
      { "sec-fetch-site": "same-origin", origin: "https://hold.example" },
      true,
      true,
    ],
    ["the address bar", { "sec-fetch-site": "none" }, true, false],
    ["another site", { "sec-fetch-site": "cross-site" }, false, false],
    ["a neighbour of the site", { "sec-fetch-site": "same-site" }, false, false],
    ["what says it twice", { "sec-fetch-site": "same-origin, cross-site" }, false, false],
    ["what says it in capitals", { "sec-fetch-site": "Same-Origin" }, false, false],
    ["nobody that says", {}, true, true],
    ["an older browser on this site", { origin: "https://hold.example" }, true, true],
    ["an older browser on another site", { origin: "https://evil.example" }, false, false],
    [
      "an older browser on a name that begins like it",
      { origin: "https://hold.example.evil.example" },
      false,
      false,
    ],
    ["an older browser on another port", { origin: "https://hold.example:8443" }, false, false],
    ["a page without an origin", { origin: "null" }, false, false],
    [
      "a foreign origin that calls itself the same",
      { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
      false,
      false,
    ],
  ])("%s", (_name, headers, mayRead, mayAct) => {
    expect([isOwnRequest(asked(headers)), isOwnAct(asked(headers))]).toEqual([mayRead, mayAct]);
  });
});
