import { collectErrors, expect, test } from "./stack.ts";

test("the first minute, as the README tells it", async ({ page, context, stack }) => {
  const errors = collectErrors(context);
  await page.goto(stack.siteUrl);
  await page.getByRole("link", { name: "Open the Concurrency Lab" }).click();
  await page.getByLabel("Given name").fill("Ada");
  await page.getByLabel("Family name").fill("First");
  await page.getByLabel("Email").fill("first-minute@example.org");
  await page.getByLabel(/operator/).check();
  await page.getByRole("button", { name: "Create and continue" }).click();
  await page.getByRole("button", { name: "Run both sides" }).click();
  // It plays by itself; who does not want to wait goes to the end.
  await page.getByRole("button", { name: "To the end" }).click();
  const plain = page.getByRole("region", { name: "Plain check", exact: true });
  await expect(plain.getByText("100,000 over the limit", { exact: true })).toBeVisible();
  const hold = page.getByRole("region", { name: "Hold", exact: true });
  await expect(hold.getByText("Within the limit")).toBeVisible();
  await expect(hold.getByText("2 of 5")).toBeVisible();
  expect(errors).toEqual([]);
});
