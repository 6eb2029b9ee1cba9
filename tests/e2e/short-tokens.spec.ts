import { expect, figure, open, signUp, startJob, test } from "./stack.ts";

test.use({ tokenLifeSeconds: 25 });

test("the session lives on over many tokens, on an open page and across pages", async ({ page, stack }) => {
  await signUp(page, stack);
  await expect(figure(page, "Limit")).toHaveText("10,000");
  // Three lives of a token with the page left alone: only its own renewals keep it signed in.
  for (let round = 1; round <= 3; round += 1) {
    await page.waitForTimeout(26_000);
    await open(page, "Jobs");
    await startJob(page, { units: 500, stepUnits: 20, steps: 5 });
    await expect(page.getByText("500 tokens are held for it.")).toBeVisible();
    await open(page, "Usage");
    await expect(figure(page, "Used")).toHaveText(String(round * 100));
  }
  await page.reload();
  await expect(figure(page, "Used")).toHaveText("300");
  await expect(page.getByText("Your session has ended")).toHaveCount(0);
});

test("upgrading with short tokens works as with long ones", async ({ page, stack }) => {
  await signUp(page, stack);
  await page.waitForTimeout(26_000);
  await open(page, "Plan");
  await page.getByRole("link", { name: "Change plan to Pro" }).click();
  await page.getByRole("button", { name: "Choose Pro" }).click();
  await page.waitForURL(`${stack.siteUrl}/app`);
  await expect(figure(page, "Limit")).toHaveText("100,000");
});
