import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  AGENT_CHARS_MAX,
  classifyClick,
  classifyRequest,
  REFERRER_CHARS_MAX,
  unitsOf,
  type LinkState,
  type Served,
} from "../../lib/ledger/classify.ts";

const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
const BROWSERS = [
  CHROME,
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
  "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
  "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
];

const see = (headers: Record<string, string>, method = "GET") =>
  classifyRequest(new Request("http://localhost/abc", { method, headers }));

describe("what a request shows", () => {
  test.each(BROWSERS)("a browser's GET is billable: %s", (agent) => {
    expect(see({ "user-agent": agent, referer: "https://example.com/page" })).toEqual({
      class: "billable",
      rule: "no rule against it",
      agent,
      referrer: "https://example.com/page",
    });
  });

  test.each(BROWSERS)("B01: HEAD with a browser's agent is not billable: %s", (agent) => {
    expect(see({ "user-agent": agent }, "HEAD")).toMatchObject({ class: "head", rule: "method: HEAD" });
  });

  test.each([
    ["Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "bot"],
    ["WhatsApp/2.23.20.0 A", "WhatsApp"],
    ["facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", "facebook"],
    ["Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Google"],
    ["TelegramBot (like TwitterBot)", "TelegramBot"],
    ["Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "bot"],
    ["curl/8.5.0", "curl/8.5.0"],
    ["node", "node"],
  ])("B02: a link preview, a crawler or a tool is a bot, and the rule quotes it: %s", (agent, quoted) => {
    const seen = see({ "user-agent": agent });
    expect(seen).toMatchObject({ class: "bot", agent });
    expect(seen.rule).toMatch(new RegExp(`^isbot: .*${quoted}`));
  });

  test("B02: no agent, or one of spaces, is a bot", () => {
    expect(see({})).toMatchObject({ class: "bot", rule: "no agent", agent: null });
    const spaces = { method: "GET", headers: { get: () => "   " } };
    expect(classifyRequest(spaces)).toMatchObject({ class: "bot", rule: "no agent", referrer: null });
  });

  test.each([
    ["Purpose", "prefetch", "purpose: prefetch"],
    ["Sec-Purpose", "prefetch;prerender", "sec-purpose: prefetch"],
    ["Sec-Purpose", "prefetch;anonymous-client-ip", "sec-purpose: prefetch"],
    ["Sec-Purpose", "Prefetch ; Prerender", "sec-purpose: prefetch"],
    ["X-Moz", "prefetch", "x-moz: prefetch"],
    ["X-Purpose", "preview", "x-purpose: preview"],
  ])("B03: a fetch ahead of the user is not billable: %s: %s", (name, value, rule) => {
    expect(see({ "user-agent": CHROME, [name]: value })).toMatchObject({ class: "prefetch", rule });
  });

  test("another purpose is no prefetch", () => {
    expect(see({ "user-agent": CHROME, "sec-purpose": "prefetched", purpose: "navigate" }).class).toBe(
      "billable",
    );
  });

  test("the first rule decides: HEAD before prefetch before bot", () => {
    expect(see({ purpose: "prefetch" }, "HEAD").class).toBe("head");
    expect(see({ purpose: "prefetch" }).class).toBe("prefetch");
  });

  test("the version of isbot is pinned: another one classifies otherwise", () => {
    const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
      dependencies: Record<string, string>;
    };
    expect(dependencies["isbot"]).toMatch(/^\d+\.\d+\.\d+$/);
  });
});

describe("hostile headers", () => {
  const HUGE = 64 * 1024;

  test("agent and referrer of 64 KB are cut to 512 characters", () => {
    const seen = see({
      "user-agent": `${CHROME} ${"x".repeat(HUGE)}`,
      referer: `https://e.com/${"y".repeat(HUGE)}`,
    });
    expect(seen.agent).toBe(`${CHROME} ${"x".repeat(HUGE)}`.slice(0, AGENT_CHARS_MAX));
    expect(seen.referrer).toHaveLength(REFERRER_CHARS_MAX);
  });

  test("what follows the cut is not looked at", () => {
    const agent = `${CHROME} ${"(x; y) ".repeat(80)}`;
    expect(see({ "user-agent": agent }).class).toBe("billable");
    expect(see({ "user-agent": `${agent.padEnd(AGENT_CHARS_MAX, "z")} Googlebot` }).class).toBe("billable");
    expect(see({ "user-agent": `${CHROME} Googlebot` }).class).toBe("bot");
  });

  test("a rule quotes 64 characters of an agent at most", () => {
    expect(see({ "user-agent": "x".repeat(HUGE) }).rule).toBe(`isbot: ${"x".repeat(64)}`);
  });

  test("agents made to keep a pattern busy are answered with the others", () => {
    for (const piece of ["/", "a/1.", "1.1 ", "(", "-", "; ", "mozilla/1.1 (compatible; ", "a 1.1 ", "\t"]) {
      const agent = piece.repeat(HUGE / piece.length);
      for (const text of [agent, `Mozilla/5.0 (${agent}`, `${agent}!`]) {
        const seen = classifyRequest({ method: "GET", headers: { get: () => text } });
        expect(seen.agent?.length ?? 0).toBeLessThanOrEqual(AGENT_CHARS_MAX);
      }
    }
  });

  test("a character of two halves is never cut through", () => {
    const text = `${"a".repeat(AGENT_CHARS_MAX - 1)}😀`;
    const seen = classifyRequest({ method: "GET", headers: { get: () => text } });
    expect(seen.agent).toBe("a".repeat(AGENT_CHARS_MAX - 1));
  });
});

describe("what the link says when the click is written", () => {
  const billable = { class: "billable", rule: "no rule against it" } as const;
  const bot = { class: "bot", rule: "no agent" } as const;
  const link = (state: Partial<LinkState> = {}): LinkState => ({
    inactiveSinceMs: null,
    capUnits: null,
    billedUnits: 0,
    ...state,
  });
  const click = (served: Served, seen: typeof billable | typeof bot = billable) => ({
    atMs: 1_000,
    served,
    seen,
  });

  test.each([
    ["no cap", click("target"), link({ billedUnits: 9 }), "billable"],
    ["under the cap", click("target"), link({ capUnits: 10, billedUnits: 9 }), "billable"],
    ["at the cap", click("target"), link({ capUnits: 10, billedUnits: 10 }), "over_cap"],
    ["a cap of nothing", click("target"), link({ capUnits: 0 }), "over_cap"],
    ["a bot at the cap", click("target", bot), link({ capUnits: 10, billedUnits: 10 }), "bot"],
    [
      "the second target, cap raised since",
      click("over_cap_target"),
      link({ capUnits: 20, billedUnits: 10 }),
      "over_cap",
    ],
    ["the page, cap taken away since", click("over_cap_page"), link(), "over_cap"],
    ["disabled at the instant", click("target"), link({ inactiveSinceMs: 1_000 }), "inactive"],
    [
      "disabled after the click, before the write",
      click("target"),
      link({ inactiveSinceMs: 1_001 }),
      "billable",
    ],
    ["answered as inactive, enabled since", click("inactive_page"), link(), "inactive"],
    ["a bot on an inactive link", click("inactive_page", bot), link(), "inactive"],
  ])("%s", (_name, asked, state, expected) => {
    const verdict = classifyClick(asked, state);
    expect(verdict.class).toBe(expected);
    expect(unitsOf(verdict.class)).toBe(expected === "billable" ? 1 : 0);
  });

  test("billing at the cap is exact, whatever the redirect still answered", () => {
    let billedUnits = 0;
    for (let i = 0; i < 50; i++) {
      billedUnits += unitsOf(classifyClick(click("target"), link({ capUnits: 7, billedUnits })).class);
    }
    expect(billedUnits).toBe(7);
  });
});
