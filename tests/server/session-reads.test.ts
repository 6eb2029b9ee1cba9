import { describe, expect, test } from "vitest";
import { handleApi } from "../../lib/server/api/router.ts";
import { readSessionToken } from "../../lib/server/session-token.ts";
import { API_KEY, apiHarness, SERVER_SECRET } from "./helpers/api.ts";
import { entryPage, usage } from "./helpers/samples.ts";

const api = await apiHarness();
const TOKEN = `eyJhbGciOiJSUzI1NiJ9.${"a".repeat(4000)}.signature`;
/** As the sign-in SDK splits it. */
const COOKIE = `id_token=other; access_token=${TOKEN.slice(0, 3000)}; access_token1=${TOKEN.slice(3000)}; a=b`;
const asSession = (headers: Record<string, string> = {}) => ({
  key: null,
  headers: { cookie: COOKIE, ...headers },
});

const tokenOf = (cookie: string | null) =>
  readSessionToken({ method: "GET", url: "http://localhost/", headers: { get: () => cookie }, body: null });

describe("the token in the cookies", () => {
  test.each([
    [COOKIE, TOKEN],
    ["access_token=a.b.c", "a.b.c"],
    ["access_token=a.b; access_token2=.c", null],
    ["access_token1=a.b.c", null],
    ["access_token_payload=a.b.c", null],
    ["access_token=; x", null],
    ["access_token=a.b.c d", null],
    [null, null],
  ])("%#", (cookie, token) => {
    expect(tokenOf(cookie)).toBe(token);
  });
});

describe("a read that a page links to", () => {
  test("is answered to the session: its token goes to Convex, and no secret of ours vouches for it", async () => {
    api.convex.on("entries:list", { value: entryPage });
    const answer = await api.call("/usage/entries", asSession({ "sec-fetch-site": "same-origin" }));
    expect(answer.status).toBe(200);
    const [call] = api.convex.calls;
    expect(call?.authorization).toBe(`Bearer ${TOKEN}`);
    expect(JSON.stringify(call?.args)).not.toContain(SERVER_SECRET);
    expect(call?.args).not.toHaveProperty("keyHash");
  });

  test.each(["cross-site", "same-site"])("is refused when a page elsewhere started it: %s", async (site) => {
    const answer = await api.call("/usage/entries", asSession({ "sec-fetch-site": site }));
    expect(answer.status).toBe(403);
    expect(api.convex.calls).toEqual([]);
  });

  test("an Authorization header decides, a wrong one too", async () => {
    api.convex.on("entries:list", { value: entryPage });
    await api.call("/usage/entries", { headers: { cookie: COOKIE }, key: API_KEY });
    expect(api.convex.calls[0]?.args).toHaveProperty("keyHash");
    expect(api.convex.calls[0]?.authorization).toBeUndefined();
    const wrong = await api.call("/usage/entries", { headers: { cookie: COOKIE, authorization: "Basic x" } });
    expect(wrong.status).toBe(401);
  });

  test("an ended sign-in is a 401 that says so, one without an account a 403; neither names the token", async () => {
    const message = `Could not verify ${TOKEN}`;
    api.convex.on("entries:list", { status: 401, code: "InvalidAuthHeader", message });
    const ended = await api.call("/usage/entries", asSession());
    expect(ended).toMatchObject({
      status: 401,
      json: { detail: expect.stringContaining("sign-in has ended") },
    });
    api.convex.on("entries:list", { errorData: { code: "no_account", message: "none" } });
    const unknown = await api.call("/usage/entries", asSession());
    expect(unknown).toMatchObject({ status: 403, json: { code: "forbidden" } });
    expect(ended.text + unknown.text + JSON.stringify(api.logged)).not.toContain(TOKEN.slice(0, 40));
  });

  test("no other route looks at the cookies", async () => {
    api.convex.on("gate:usage", { value: usage });
    const answer = await api.call("/usage", asSession());
    expect(answer.status).toBe(401);
    expect(api.convex.calls).toEqual([]);
  });

  test("without either it asks for a key or a sign-in", async () => {
    const request = new Request("http://localhost/api/v1/usage/entries");
    expect(await handleApi(request, api.deps)).toMatchObject({
      status: 401,
      text: expect.stringContaining("or sign in"),
    });
  });
});
