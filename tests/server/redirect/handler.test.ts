import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Click } from "../../../lib/server/redirect/click.ts";
import { createRedirectHandler, type RedirectDeps } from "../../../lib/server/redirect/handler.ts";
import { LinksUnavailableError } from "../../../lib/server/redirect/link-cache.ts";
import type { ResolvedLink } from "../../../lib/server/redirect/link.ts";
import { makeLink, newKey } from "./helpers.ts";

const AT_MS = Date.UTC(2026, 9, 1);

let recorded: Click[] = [];
let link: ResolvedLink | null = makeLink();
beforeEach(() => {
  recorded = [];
  link = makeLink();
});

function makeHandler(changes: Partial<RedirectDeps> = {}) {
  return createRedirectHandler({
    resolve: () => Promise.resolve(link),
    isCode: (segment) => /^[\w-]{1,64}$/.test(segment),
    isAllowedTarget: (location) => /^https?:/.test(location),
    classify: ({ method, headers }) => ({
      ...(method === "HEAD" ? { class: "head", rule: "method: HEAD" } : { class: "billable", rule: "none" }),
      referrer: headers.get("referer"),
      agent: headers.get("user-agent"),
    }),
    record(click) {
      recorded.push(click);
      return Promise.resolve(true);
    },
    newKey,
    nowMs: () => AT_MS,
    log: () => undefined,
    ...changes,
  });
}

const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  new Request(`http://localhost:3000${path}`, { method, headers });
/** As a Node server hands a request over: nothing has been corrected on the way. */
const raw = (path: string) => ({
  method: "GET",
  url: `http://localhost${path}`,
  headers: { get: () => null },
});

describe("an active link", () => {
  test("answers 302 with the stored target, byte for byte, and may not be kept", async () => {
    link = makeLink({ location: "https://en.wikipedia.org/wiki/?2+2_(TV_channel)&a=%2B%2f" });
    expect(await makeHandler()(get("/abc?utm=1"))).toEqual({
      status: 302,
      headers: {
        location: "https://en.wikipedia.org/wiki/?2+2_(TV_channel)&a=%2B%2f",
        "cache-control": "private, no-store",
        "content-length": "0",
      },
      text: null,
    });
  });

  test("records the click with what the classifier says", async () => {
    await makeHandler()(get("/abc", { referer: "https://from.example/", "user-agent": "Mozilla/5.0" }));
    expect(recorded).toEqual([
      {
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
        linkId: "link-1",
        accountId: "account-1",
        atMs: AT_MS,
        served: "target",
        class: "billable",
        rule: "none",
        referrer: "https://from.example/",
        agent: "Mozilla/5.0",
      },
    ]);
  });

  test("B01: HEAD gets the headers of GET, and its click is recorded as what it is", async () => {
    const handler = makeHandler();
    const answers = await Promise.all(
      ["HEAD", "HEAD", "HEAD", "GET"].map((method) => handler(get("/abc", {}, method))),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(recorded.map((click) => click.class)).toEqual(["head", "head", "head", "billable"]);
  });

  test("no IP address is recorded, wherever it stands", async () => {
    await makeHandler()(get("/abc", { "x-forwarded-for": "203.0.113.9", forwarded: "for=203.0.113.9" }));
    expect(JSON.stringify(recorded)).not.toContain("203.0.113.9");
  });

  test("is not answered before its click is recorded", async () => {
    let isRecorded = () => undefined as void;
    const recording = new Promise<boolean>((resolve) => void (isRecorded = () => resolve(true)));
    let isAnswered = false;
    const answer = makeHandler({ record: () => recording })(get("/abc")).finally(() => (isAnswered = true));
    await new Promise((resolve) => void setImmediate(resolve));
    expect(isAnswered).toBe(false);
    isRecorded();
    expect(await answer).toMatchObject({ status: 302 });
  });

  test("is 503 with Retry-After, and no target, when its click could not be kept", async () => {
    const answer = await makeHandler({ record: () => Promise.resolve(false) })(get("/abc"));
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
    expect(answer.headers).not.toHaveProperty("location");
  });

  test("the key is made before the link is looked up", async () => {
    const order: string[] = [];
    await makeHandler({
      newKey: () => String(order.push("key")).padStart(32, "0"),
      resolve: () => (order.push("resolve"), Promise.resolve(link)),
    })(get("/abc"));
    expect(order).toEqual(["key", "resolve"]);
  });
});

describe("a link that leads nowhere", () => {
  test.each<[string, Partial<ResolvedLink>, Click["served"]]>([
    ["disabled", { isActive: false }, "inactive_page"],
    ["over its cap without a second target", { isOverCap: true }, "over_cap_page"],
    ["disabled and over its cap", { isActive: false, isOverCap: true }, "inactive_page"],
    ["B19: with a target that the rule refuses", { location: "javascript:alert(1)" }, "inactive_page"],
    [
      "with a target that is no header",
      { location: "https://example.com/\r\nset-cookie: a=b" },
      "inactive_page",
    ],
    [
      "with a second target that the rule refuses",
      { isOverCap: true, overCapLocation: "data:text/html,x" },
      "inactive_page",
    ],
  ])("%s: 410 with a page, and the click says what was served", async (_name, changes, served) => {
    link = makeLink(changes);
    const answer = await makeHandler()(get("/abc"));
    expect(answer.status).toBe(410);
    expect(answer.headers).not.toHaveProperty("location");
    expect(answer.text).toContain("no longer leads anywhere");
    expect(recorded.map((click) => click.served)).toEqual([served]);
  });

  test("over its cap it goes to the second target", async () => {
    link = makeLink({ isOverCap: true, overCapLocation: "https://second.example/" });
    expect((await makeHandler()(get("/abc"))).headers).toMatchObject({ location: "https://second.example/" });
    expect(recorded[0]?.served).toBe("over_cap_target");
  });
});

describe("no link", () => {
  test("a code nobody has: 404 with a page, nothing recorded", async () => {
    link = null;
    const answer = await makeHandler()(get("/abc"));
    expect(answer).toMatchObject({ status: 404, headers: { "cache-control": "private, no-store" } });
    expect(recorded).toEqual([]);
  });

  test.each([
    "/%ZZ",
    "/%",
    "/abc%E0%A4",
    "/%00",
    "/a%2Fb",
    "/a/b",
    "/abc/",
    "/",
    "//abc",
    "/%F0%9F%98%80",
    "/ä",
  ])("%s: 404, never 500, and nobody is asked", async (path) => {
    const resolve = () => Promise.reject(new Error("asked"));
    expect((await makeHandler({ resolve })(raw(path))).status).toBe(404);
  });

  test("a code may be percent-encoded", async () => {
    const asked: string[] = [];
    await makeHandler({ resolve: (code) => (asked.push(code), Promise.resolve(link)) })(raw("/%61b%63#x"));
    expect(asked).toEqual(["abc"]);
  });

  test("a link that cannot be looked up: 503 with a wait, nothing recorded", async () => {
    const resolve = () => Promise.reject(new LinksUnavailableError("down"));
    const answer = await makeHandler({ resolve })(get("/abc"));
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "2" } });
    expect(recorded).toEqual([]);
  });

  test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])(
    "%s: 405 names what is allowed",
    async (method) => {
      const answer = await makeHandler()(get("/abc", {}, method));
      expect(answer).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
      expect(recorded).toEqual([]);
    },
  );
});

describe("the pages", () => {
  test("run no script and load nothing: their policy allows one style, by its hash", async () => {
    link = null;
    const { headers, text } = await makeHandler()(get("/abc"));
    const style = /<style>(.*)<\/style>/s.exec(text ?? "")?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    expect(headers["content-security-policy"]).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(text).not.toMatch(/<script|\son\w+=|style="/);
  });

  test("have a language, a title, one heading and both colour schemes", async () => {
    link = null;
    const { text } = await makeHandler()(get("/abc"));
    expect(text).toContain('<html lang="en">');
    expect(text).toMatch(/<title>[^<]+<\/title>/);
    expect(text?.match(/<h1>/g)).toHaveLength(1);
    expect(text).toContain("prefers-color-scheme:dark");
  });

  test("for HEAD only the headers are sent, with the length of the page", async () => {
    link = null;
    const handler = makeHandler();
    const [page, head] = [await handler(get("/abc")), await handler(get("/abc", {}, "HEAD"))];
    const length = String(Buffer.byteLength(page.text ?? ""));
    expect(head).toEqual({ ...page, headers: { ...page.headers, "content-length": length }, text: null });
  });

  test("leave their length to whoever sends them, so that it is not sent twice", async () => {
    link = null;
    expect((await makeHandler()(get("/abc"))).headers).not.toHaveProperty("content-length");
  });
});
