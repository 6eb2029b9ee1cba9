import { collectErrors, expect, figure, open, signIn, signUp, startJob, test } from "./stack.ts";

test("a new customer signs up, sees the account live, upgrades, and the next job uses the new limit", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  await signUp(page, stack);
  await expect(figure(page, "Limit")).toHaveText("10,000");
  await expect(page.getByText("Plan Free")).toBeVisible();

  await open(page, "Jobs");
  await startJob(page, { units: 50_000, stepUnits: 100 });
  const outcome = page.getByRole("region", { name: "Start jobs" }).getByRole("status");
  await expect(outcome.getByText("The job is larger than the whole limit")).toBeVisible();
  await expect(outcome.getByText("You asked for 50,000; 10,000 of 10,000 are free")).toBeVisible();

  await outcome.getByRole("link", { name: "See the plans" }).click();
  await page.getByRole("listitem", { name: "Pro" }).getByRole("link", { name: "Change plan" }).click();
  await page.getByRole("button", { name: "Choose Pro" }).click();
  await page.waitForURL(`${stack.siteUrl}/app`);
  await expect(page.getByText("You are on Pro now")).toBeVisible();
  await expect(page.getByText("Your limit is 100,000 tokens a cycle, at once.")).toBeVisible();
  await expect(figure(page, "Limit")).toHaveText("100,000");
  await expect(page.getByText("Plan Pro")).toBeVisible();
  await open(page, "Plan");
  await expect(page.getByText("You are on Pro now")).toHaveCount(0);
  await page.getByRole("link", { name: "Change plan to Free" }).click();
  await page.getByRole("link", { name: "Back without a change" }).click();
  await expect(page.getByText("Your plan is Pro, as before")).toBeVisible();
  await page.reload();
  await expect(page.getByText("Plan Pro")).toBeVisible();
  await expect(page.getByText("Your plan is Pro, as before")).toHaveCount(0);

  await open(page, "Jobs");
  await startJob(page, { units: 50_000, stepUnits: 100, steps: 5 });
  await expect(page.getByText("50,000 tokens are held for it.")).toBeVisible();
  await open(page, "Usage");
  await expect(figure(page, "Held")).toHaveText("50,000");
  // Five steps of 100, a second each, seen as they charge.
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

  await open(page, "Jobs");
  await startJob(page, { units: 4_000, stepUnits: 100, steps: 30 });
  await expect(figure(second, "Held")).toHaveText("4,000");
  await open(second, "Jobs");
  await second.getByRole("button", { name: "Cancel", exact: true }).click();
  await second.getByRole("button", { name: "Cancel the job" }).click();
  await expect(page.getByText("Cancelled.")).toBeVisible();
  await open(page, "Usage");
  await expect(figure(page, "Held")).toHaveText("0");
  await other.close();
});
