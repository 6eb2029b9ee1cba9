import { expect, test } from "vitest";

import { answerPolicy, livePolicy, sitePolicy } from "../../lib/server/content-security.ts";
import { originOf, siteRedirect } from "../../lib/server/site.ts";

const TARGET = { pathname: "/app/x", search: "?a=1" };

test.each([
  ["localhost:3000", null],
  ["LOCALHOST:3000", null],
  ["127.0.0.1:3000", "http://localhost:3000/app/x?a=1"],
  ["localhost:3001", "http://localhost:3000/app/x?a=1"],
  [null, null],
])("a screen asked for at %s belongs at %s", (host, expected) => {
  expect(siteRedirect(host, TARGET, "http://localhost:3000")).toBe(expected);
});

test("what is no screen is answered under any host", () => {
  for (const pathname of ["/", "/application", "/api/v1/usage", "/abc1234"]) {
    expect(siteRedirect("127.0.0.1:3000", { pathname, search: "" }, "http://localhost:3000")).toBeNull();
  }
});

test("a site that is not configured redirects nobody", () => {
  expect(siteRedirect("127.0.0.1:3000", TARGET, undefined)).toBeNull();
  expect(siteRedirect("127.0.0.1:3000", TARGET, "localhost")).toBeNull();
});

test("a live screen may talk to its Convex deployment over HTTP and WebSocket, and runs scripts by nonce", () => {
  const policy = livePolicy("abc", "https://happy-otter-1.convex.cloud", { isDevelopment: false });
  expect(policy).toContain(
    "connect-src 'self' https://happy-otter-1.convex.cloud wss://happy-otter-1.convex.cloud",
  );
  expect(policy).toContain("script-src 'self' 'nonce-abc' 'strict-dynamic'");
  expect(policy).not.toContain("unsafe-eval");
});

test("a page without a session talks to this origin alone", () => {
  for (const other of [answerPolicy({ isDevelopment: false }), sitePolicy("abc", { isDevelopment: false })]) {
    expect(other).toMatch(/connect-src 'self'(?:;|$)/);
    expect(other).toMatch(/script-src 'self'(?! 'unsafe-inline')/);
  }
});

test.each([
  ["the host of the request", { host: "127.0.0.1:4310" }, "http://127.0.0.1:4310"],
  ["https behind TLS", { host: "a.example.org", "x-forwarded-proto": "https" }, "https://a.example.org"],
  ["an IPv6 address", { host: "[::1]:3000" }, "http://[::1]:3000"],
  ["the site, for what is no host", { host: '";echo' }, "https://usage.example.com"],
  ["the site, without a host", { accept: "*/*" }, "https://usage.example.com"],
])("the commands of a page name %s", (_name, headers, origin) => {
  expect(originOf(new Headers(headers), "https://usage.example.com/")).toBe(origin);
});
