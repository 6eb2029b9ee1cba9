import { describe, expect, test } from "vitest";
import { readPath } from "../../lib/server/request-path.ts";

describe("a path that is spelt as clients of ours spell it stays as it is", () => {
  test.each([
    "/",
    "/abc",
    "/-abc_",
    "/api/v1/usage",
    "/api/v1/jobs/k57f/charge",
    "/api/auth/kinde_callback",
    "/_next/static/chunks/0a~b-c.js",
    "/robots.txt",
    "/.well-known/security.txt",
    "/...",
    "/a..b/..c",
    "/app/events/a:b@c;d=e,f",
  ])("%s", (pathname) => {
    expect(readPath(pathname)).toEqual({ kind: "plain", pathname, search: "" });
    expect(readPath(`${pathname}?a=/../%2e#b`)).toEqual({ kind: "plain", pathname, search: "?a=/../%2e#b" });
  });
});

describe("another spelling of such a path leads to it", () => {
  test.each([
    ["/api/v1/./usage", "/api/v1/usage"],
    ["/api/v1/x/../usage", "/api/v1/usage"],
    ["/api/v1/%75sage", "/api/v1/usage"],
    ["/api/v1/%2e/usage", "/api/v1/usage"],
    ["/api/x/%2E./v1/usage", "/api/v1/usage"],
    ["//api/v1/usage", "/api/v1/usage"],
    ["/api///v1/usage", "/api/v1/usage"],
    ["/api/v1/usage/", "/api/v1/usage"],
    ["/\\api\\v1/usage", "/api/v1/usage"],
    ["/api/./auth/login", "/api/auth/login"],
    ["/%7aCODE", "/zCODE"],
    ["/CODE/", "/CODE"],
    ["/a%5fb%2Dc", "/a_b-c"],
    ["/..", "/"],
    ["/../../x", "/x"],
    ["//", "/"],
    ["//evil.example/x", "/evil.example/x"],
    ["/\\/evil.example", "/evil.example"],
    ["/.//evil.example", "/evil.example"],
  ])("%s: %s", (target, to) => {
    expect(readPath(target)).toEqual({ kind: "moved", to });
    expect(readPath(`${target}?q=1`)).toEqual({ kind: "moved", to: `${to}?q=1` });
    expect(readPath(to).kind).toBe("plain");
  });
});

describe("what is no path here is none", () => {
  test.each([
    "",
    "*",
    "usage",
    "http://example.test/api/v1/usage",
    "\\api/v1/usage",
    "/api/v1/usage#x",
    "/x#/usage",
    "/api/v1%2fusage",
    "/api%2Fv1%2Fusage",
    "/api%5cv1/usage",
    "/%2575sage",
    "/abc%20",
    "/abc%00",
    "/abc%",
    "/abc%zz",
    "/%E0%A4%A",
    "/caf%C3%A9",
    "/caf\u00e9",
    "/a|b",
    "/a b",
    // Next's own ways to other paths: its image optimizer asks for the one in its query, its data files name one.
    "/_next/image",
    "/_next/data/build/abc.json",
    "/_next/data/build/api/auth/login.json",
  ])("%s", (target) => expect(readPath(target)).toEqual({ kind: "none" }));

  test("however it is spelt", () => {
    const moved = readPath("/_next/static/../data/build/abc.json");
    expect(moved).toEqual({ kind: "moved", to: "/_next/data/build/abc.json" });
    expect(readPath("/_next/data/build/abc.json").kind).toBe("none");
  });
});
