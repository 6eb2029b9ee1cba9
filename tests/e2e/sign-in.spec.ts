import { expect, figure, signIn, signUp, test } from "./stack.ts";

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
  const names = (await context.cookies()).map(({ name }) => name);
  expect(names.filter((name) => /token/.test(name))).toEqual([]);
  await signIn(page, stack, person);
  await expect(figure(page, "Limit")).toHaveText("10,000");
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
  await expect(page.getByText(/^sweeper/)).toBeVisible();
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
