import type { BrowserContext } from "@playwright/test";
import { expect, figure, signIn, signUp, test } from "./stack.ts";

async function tokenCookies(context: BrowserContext): Promise<string[]> {
  return (await context.cookies()).map(({ name }) => name).filter((name) => /token/.test(name));
}

function gate(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((open) => {
    resolve = open;
  });
  return { promise, resolve };
}

test("a screen that was asked for before the sign-in is where it ends", async ({ page, stack }) => {
  await signUp(page, stack, { target: "/app?from=mail" });
  await expect(page).toHaveURL(`${stack.siteUrl}/app?from=mail`);
});

test("a sign-in that starts at 127.0.0.1 goes on at the site's own host", async ({ page, stack }) => {
  await page.goto(`${stack.url}/app`);
  await page.getByLabel("Given name").waitFor();
  const person = await signUp(page, stack);
  expect(person.email).toContain("@");
  await expect(figure(page, "Limit")).toHaveText("10,000");
});

test("signing out ends the session here and asks again for the next one", async ({
  page,
  context,
  stack,
}) => {
  const person = await signUp(page, stack);
  await page.getByRole("link", { name: "Sign out" }).click();
  await page.waitForURL(`${stack.siteUrl}/`);
  expect(await tokenCookies(context)).toEqual([]);
  await signIn(page, stack, person);
  await expect(figure(page, "Limit")).toHaveText("10,000");
});

test("a renewal that is on its way in another tab does not bring the session back", async ({
  page,
  context,
  stack,
}) => {
  await signUp(page, stack);
  const other = await context.newPage();
  const asked = gate();
  const goesOn = gate();
  const answered = gate();
  await other.route("**/api/session", async (route) => {
    if (route.request().postDataJSON().force !== true) return route.continue();
    const response = await route.fetch();
    asked.resolve();
    await goesOn.promise;
    await route.fulfill({ response });
    answered.resolve();
  });
  await other.goto(`${stack.siteUrl}/app`);
  await asked.promise;
  await page.getByRole("link", { name: "Sign out" }).click();
  // Long enough to be signed out, were the answer not waited for.
  await page.waitForURL(`${stack.siteUrl}/`, { timeout: 3_000 }).catch(() => undefined);
  goesOn.resolve();
  await answered.promise;
  await page.waitForURL(`${stack.siteUrl}/`);
  expect(await tokenCookies(context)).toEqual([]);
  await expect(other.getByText("Your session has ended")).toBeVisible();
});

test("nobody is sent to another site after the sign-in", async ({ page, stack }) => {
  const person = await signUp(page, stack);
  await page.getByRole("link", { name: "Sign out" }).click();
  await page.waitForURL(`${stack.siteUrl}/`);
  const target = encodeURIComponent("https://evil.example/");
  await page.goto(`${stack.siteUrl}/api/auth/login?post_login_redirect_url=${target}`);
  await page.getByRole("button", { name: person.email }).click();
  await page.waitForURL((url) => url.origin === stack.siteUrl);
});

test("/ops answers 403 to a customer, on the page and in the functions", async ({ page, stack }) => {
  await signUp(page, stack);
  const answer = await page.goto(`${stack.siteUrl}/ops`);
  expect(answer?.status()).toBe(403);
  await expect(page.getByRole("heading", { name: "This part is for operators" })).toBeVisible();

  await page.goto(`${stack.siteUrl}/app`);
  const token = await page.evaluate(async () => {
    const response = await fetch("/api/session", { method: "POST", body: "{}" });
    return ((await response.json()) as { accessToken: string }).accessToken;
  });
  const called = await fetch(`${stack.convexUrl}/api/query`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ path: "health:forOperators", args: {}, format: "json" }),
  });
  expect(await called.json()).toMatchObject({ status: "error", errorData: { code: "forbidden" } });
});

test("/ops is open to whoever carries the operator permission", async ({ page, stack }) => {
  await signUp(page, stack, { isOperator: true, target: "/ops" });
  await expect(page.getByRole("heading", { name: "Sweeper" })).toBeVisible();
  await page.getByRole("button", { name: "Sweep now" }).click();
  await expect(page.getByText(/^Swept/)).toBeVisible();
});

test("the token of a session is for this site's own pages alone", async ({ page, stack }) => {
  await signUp(page, stack);
  const foreign = await fetch(`${stack.url}/api/session`, {
    method: "POST",
    headers: { "sec-fetch-site": "cross-site" },
  });
  expect(foreign.status).toBe(403);
  const anonymous = await fetch(`${stack.url}/api/session`, { method: "POST" });
  expect(anonymous.status).toBe(401);
});
