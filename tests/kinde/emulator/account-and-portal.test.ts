import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bearer, claimsOf, control, machine, post, send, signIn, type Caller } from "./calls.ts";
import { openEmulator, SITE, type TestEmulator } from "./emulator-server.ts";

const USER = {
  new: "1",
  given_name: "<i>Ada",
  family_name: "Lovelace",
  email: "ada@example.com",
  operator: "1",
};

let emulator: TestEmulator;
let url: string;
let call: Caller;
let userId: string;
beforeEach(async () => {
  emulator = await openEmulator();
  url = emulator.url;
  const { access_token } = await signIn(url, USER);
  call = bearer(url, access_token);
  userId = claimsOf(access_token).sub!;
});
afterEach(() => emulator.close());

describe("the account API", () => {
  test("lists entitlements with the names that user tokens get", async () => {
    const { json } = await call("/account_api/v1/entitlements?page_size=1");
    expect(json.data).toMatchObject({
      org_code: expect.stringMatching(/^org_/),
      plans: [{ key: "customer_free_plan", subscribed_on: "2026-10-05T09:00:00.000Z" }],
      entitlements: [{ feature_key: "tokens", entitlement_limit_max: 10_000 }],
    });
    expect(json.metadata.has_more).toBe(true);
    const next = await call(
      `/account_api/v1/entitlements?page_size=1&starting_after=${json.metadata.next_page_starting_after}`,
    );
    expect(next.json.data.entitlements).toMatchObject([
      { feature_key: "clicks", entitlement_limit_max: null },
    ]);
    expect(next.json.metadata).toEqual({ has_more: false, next_page_starting_after: null });
  });

  test("answers for one entitlement and one permission", async () => {
    expect((await call("/account_api/v1/entitlement/tokens")).json.data.entitlement.feature_key).toBe(
      "tokens",
    );
    expect((await call("/account_api/v1/entitlement/storage")).status).toBe(404);
    const permission = await call("/account_api/v1/permission/operate%3Aholdfast");
    expect(permission.json).toMatchObject({ permissionKey: "operate:holdfast", isGranted: true });
    expect((await call("/account_api/v1/permission/other")).json.isGranted).toBe(false);
  });

  test("lists permissions, roles and flags", async () => {
    expect((await call("/account_api/v1/permissions")).json.data.permissions[0].key).toBe("operate:holdfast");
    expect((await call("/account_api/v1/roles")).json.data.roles[0].key).toBe("operator");
    expect((await call("/account_api/v1/feature_flags")).json.data.feature_flags).toEqual([]);
  });

  test("refuses ID tokens, machine tokens and none", async () => {
    const { id_token } = await signIn(url, { user: userId });
    const path = "/account_api/v1/entitlements";
    expect((await bearer(url, id_token)(path)).status).toBe(401);
    expect((await (await machine(url))(path)).status).toBe(401);
    expect((await send(url + path)).status).toBe(401);
  });
});

describe("the plan page", () => {
  const open = async (returnUrl = `${SITE}/app?from=plan`) =>
    (
      await call(
        `/account_api/v1/portal_link?subnav=plan_selection&return_url=${encodeURIComponent(returnUrl)}`,
      )
    ).json.url as string;
  const planNow = async () => (await call("/account_api/v1/entitlements")).json.data.plans[0].key as string;

  test("shows every plan with price and limits, marks the current one, escapes the name", async () => {
    const page = await send(await open());
    expect(page.status).toBe(200);
    for (const text of ["Free", "Starter", "Pro", "$9.00 a month", "10,000 a month", "no maximum"]) {
      expect(page.text).toContain(text);
    }
    expect(page.text).toContain("Your current plan");
    expect(page.text).not.toContain(`value="customer_free_plan"`);
    expect(page.text).not.toContain("<i>");
  });

  test("a choice makes a new agreement and goes back; the link is used up", async () => {
    const link = await open();
    expect((await send(link)).status).toBe(200);
    const chosen = await post(link, { plan: "customer_pro_plan" }, { origin: url });
    expect([chosen.status, chosen.headers.get("location")]).toEqual([302, `${SITE}/app?from=plan`]);
    expect(await planNow()).toBe("customer_pro_plan");
    expect((await send(link)).status).toBe(410);
    expect((await post(link, { plan: "customer_free_plan" })).status).toBe(410);
    expect(await planNow()).toBe("customer_pro_plan");
  });

  test("goes back to the site only, whatever the address says", async () => {
    const refused = await call("/account_api/v1/portal_link?return_url=http://evil.example/");
    expect([refused.status, refused.json.errors[0].code]).toEqual([400, "INVALID_RETURN_URL"]);
    const link = new URL(await open());
    link.searchParams.set("return_url", "http://evil.example/");
    expect((await send(link.href)).text).not.toContain("evil");
    const chosen = await post(link.href, { plan: "customer_pro_plan" });
    expect(chosen.headers.get("location")).toBe(`${SITE}/app?from=plan`);
  });

  test("refuses an unknown plan, a forged link, an old link and a form of another site", async () => {
    const link = await open();
    expect((await post(link, { plan: "gold" })).status).toBe(400);
    expect((await post(link, { plan: "customer_pro_plan" }, { origin: "http://evil.example" })).status).toBe(
      403,
    );
    expect((await send(`${url}/plan?token=link_x`)).status).toBe(410);
    emulator.advance(15 * 60_000);
    expect((await send(link)).status).toBe(410);
    expect(await planNow()).toBe("customer_free_plan");
  });

  test("choosing the plan one has changes nothing", async () => {
    await post(await open(), { plan: "customer_free_plan" });
    const { json } = await control(url)("/control/state");
    expect(json.agreements).toHaveLength(1);
  });

  test("a machine gets a link for a user", async () => {
    const asMachine = await machine(url);
    const reply = await asMachine("/api/v1/portal/generate_url", {
      user_id: userId,
      return_url: `${SITE}/app`,
    });
    expect((await send(reply.json.url)).text).toContain("Choose a plan");
    expect((await asMachine("/api/v1/portal/generate_url", { user_id: "kp_0" })).status).toBe(404);
  });
});
