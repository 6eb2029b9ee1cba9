import { collectErrors, expect, figure, signIn, signUp, startJob, test } from "./stack.ts";

test("a new customer signs up, sees the account live, upgrades, and the next job uses the new limit", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  await signUp(page, stack);
  await expect(figure(page, "Limit")).toHaveText("10,000");
  await expect(page.getByText("customer_free_plan")).toBeVisible();

  await startJob(page, 50_000, 100);
  await expect(page.getByText("The limit is used up")).toBeVisible();
  await expect(page.getByText("You asked for 50,000; 10,000 of 10,000 are free")).toBeVisible();

  await page.getByRole("link", { name: "Change plan" }).click();
  await page.getByRole("button", { name: "Choose Pro" }).click();
  await page.waitForURL(`${stack.siteUrl}/app`);
  await expect(figure(page, "Limit")).toHaveText("100,000");
  await expect(page.getByText("customer_pro_plan")).toBeVisible();

  await startJob(page, 50_000, 100);
  await expect(page.getByText("Started: 50,000 tokens are held for it.")).toBeVisible();
  await expect(figure(page, "Held")).toHaveText("50,000");
  // Five steps of 100, a second each, seen as they charge.
  await expect(page.getByText("completed")).toBeVisible();
  await expect(figure(page, "Used")).toHaveText("500");
  await expect(figure(page, "Held")).toHaveText("0");
  expect(errors).toEqual([]);
});

test("two browsers see each other's changes", async ({ page, browser, stack }) => {
  const person = await signUp(page, stack);
  const other = await browser.newContext();
  const second = await other.newPage();
  await signIn(second, stack, person);
  await expect(figure(second, "Held")).toHaveText("0");

  await startJob(page, 4_000, 300);
  await expect(figure(second, "Held")).toHaveText("4,000");
  await second.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByText("cancelled")).toBeVisible();
  await expect(figure(page, "Held")).toHaveText("0");
  await other.close();
});

test("a killed worker's hold comes back when its lease has ended", async ({ page, stack }) => {
  await signUp(page, stack);
  await startJob(page, 3_000, 100);
  await page.getByRole("button", { name: "Kill the worker" }).click();
  await expect(figure(page, "Held")).toHaveText("3,000");
  await expect(page.getByText("expired")).toBeVisible({ timeout: 40_000 });
  await expect(figure(page, "Held")).toHaveText("0");
});

test("an API key is shown once, works over HTTP, and stops when it is revoked", async ({ page, stack }) => {
  await signUp(page, stack);
  await page.getByLabel("Name of a new key").fill("browser test");
  await page.getByRole("button", { name: "Make a key" }).click();
  const secret = await page.locator("code", { hasText: /^hf_live_[\w-]{43}$/ }).innerText();
  const usage = () => fetch(`${stack.url}/api/v1/usage`, { headers: { authorization: `Bearer ${secret}` } });
  const answer = await usage();
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ feature: "tokens", limit: { provider: "kinde" } });

  await page.reload();
  await expect(page.getByText("browser test")).toBeVisible();
  await expect(page.getByText(secret)).toHaveCount(0);
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("button", { name: "Revoke for good" }).click();
  await expect(page.getByText(/revoked/)).toBeVisible();
  expect((await usage()).status).toBe(401);
});
