import type { Page } from "@playwright/test";
import { collectErrors, expect, open, rowsOf, signUp, test } from "./stack.ts";

/** A figure of the credits. */
function credits(page: Page, name: "Used" | "Left" | "Allowance") {
  const panel = page.getByRole("region", { name: "Credits of this month" });
  return panel.locator("dt", { hasText: new RegExp(`^${name}$`) }).locator("xpath=following-sibling::dd");
}

const list = (page: Page) => page.getByRole("table", { name: "Reminders" });
const row = (page: Page, text: string) => list(page).getByRole("row").filter({ hasText: text });

async function remind(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.getByRole("button", { name: "Set the reminder" }).click();
  await expect(row(page, text)).toBeVisible();
}

/** Local time with seconds, as the field for day and time takes it. */
function inSeconds(page: Page, seconds: number): Promise<string> {
  return page.evaluate((ms) => {
    const at = new Date(Date.now() + ms);
    return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  }, seconds * 1000);
}

test("a reminder costs a credit, arrives on another screen and is read; a cancelled one gives its credit back", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  await signUp(page, stack);
  await open(page, "Reminders");
  await expect(credits(page, "Allowance")).toHaveText("10");
  await expect(credits(page, "Left")).toHaveText("10");

  await page.getByLabel("Tomorrow 9:00").check();
  await remind(page, "Look at tomorrow");
  await expect(credits(page, "Left")).toHaveText("9");
  await row(page, "Look at tomorrow")
    .getByRole("button", { name: /^Cancel/ })
    .click();
  const dialog = page.getByRole("alertdialog", { name: "Cancel the reminder?" });
  await dialog.getByRole("button", { name: "Keep it" }).click();
  await expect(credits(page, "Left")).toHaveText("9");
  await row(page, "Look at tomorrow")
    .getByRole("button", { name: /^Cancel/ })
    .click();
  await dialog.getByRole("button", { name: "Cancel the reminder" }).click();
  await expect(row(page, "Look at tomorrow").getByText("cancelled")).toBeVisible();
  await expect(credits(page, "Left")).toHaveText("10");
  await expect(credits(page, "Used")).toHaveText("0");

  await page.getByLabel("Another time").check();
  await page.getByLabel("Day and time").fill(await inSeconds(page, -60));
  await page.getByLabel("Message", { exact: true }).fill("Arrive soon");
  await page.getByRole("button", { name: "Set the reminder" }).click();
  await expect(page.getByText("Choose a time between a second and 366 days from now.")).toBeVisible();
  await page.getByLabel("Day and time").fill(await inSeconds(page, 6));
  await remind(page, "Arrive soon");
  await open(page, "Usage");
  const arrived = page.getByRole("dialog", { name: "A reminder for you" });
  await expect(arrived.getByText("Arrive soon")).toBeVisible({ timeout: 20_000 });

  await open(page, "Reminders");
  await expect(page.getByText("1 unread")).toBeVisible();
  await row(page, "Arrive soon")
    .getByRole("button", { name: /^Mark as read/ })
    .click();
  await expect(row(page, "Arrive soon").getByText("read", { exact: true })).toBeVisible();
  await expect(page.getByText("1 unread")).toHaveCount(0);
  await page.getByLabel("State").selectOption("Cancelled");
  await expect(row(page, "Look at tomorrow")).toBeVisible();
  await expect(row(page, "Arrive soon")).toHaveCount(0);
  await page.getByLabel("Search reminders").fill("nothing like it");
  await expect(page.getByText("No reminder fits")).toBeVisible();
  expect(errors).toEqual([]);
});

test("without credits the eleventh is refused with the numbers; the upgrade is a billing event whose replay changes nothing", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  await signUp(page, stack);
  await open(page, "Reminders");
  for (let count = 1; count <= 10; count += 1) {
    await remind(page, `Number ${count} of ten`);
    await expect(credits(page, "Left")).toHaveText(String(10 - count));
  }
  await page.getByLabel("Message", { exact: true }).fill("One too many");
  await page.getByRole("button", { name: "Set the reminder" }).click();
  const form = page.getByRole("region", { name: "New reminder" });
  await expect(form.getByText("No credit is left this month")).toBeVisible();
  await expect(form.getByText("It costs 1 credit; 0 of 10 are left.")).toBeVisible();
  await form.getByRole("link", { name: "See the plans" }).click();
  await page.getByRole("listitem", { name: "Pro" }).getByRole("link", { name: "Change plan" }).click();
  await page.getByRole("button", { name: "Choose Pro" }).click();
  await page.waitForURL(`${stack.siteUrl}/app`);

  await open(page, "Billing events");
  const events = page.getByRole("table", { name: "Billing events" });
  const change = events.getByRole("row").filter({ hasText: "Plan changed" });
  await expect(change.getByText("applied")).toBeVisible();
  await expect(change.getByText("It set the plan Pro.")).toBeVisible();
  await page.getByLabel("Status").selectOption("dead letter");
  await expect(page.getByText("No event fits")).toBeVisible();
  await page.getByLabel("Status").selectOption("Any status");
  await page.getByLabel("Type").selectOption("Plan changed");
  await change.getByRole("link", { name: "Details of Plan changed" }).click();
  await expect(page.getByRole("region", { name: "The signed text" }).last()).toContainText(
    '"type": "customer.plan_changed"',
  );
  await expect(page.getByRole("table", { name: "Deliveries" }).getByText("first")).toBeVisible();

  await page.getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByRole("button", { name: "Replay it" }).click();
  await expect(page.getByText("Replayed: nothing changed")).toBeVisible();
  // The answer is gone with the page; that there was a replay, and what came of it, is not.
  await page.reload();
  const replays = rowsOf(page, "Replays");
  await expect(replays).toHaveCount(1);
  await expect(replays.last()).toContainText("you, or a key of yours");
  await expect(replays.last()).toContainText("applied, as before");
  await open(page, "Reminders");
  await expect(credits(page, "Allowance")).toHaveText("500");
  await expect(credits(page, "Left")).toHaveText("490");
  expect(errors).toEqual([]);
});

test("somebody else's event is not there", async ({ page, browser, stack }) => {
  await signUp(page, stack);
  await open(page, "Billing events");
  const path = await page
    .getByRole("link", { name: /^Details of/ })
    .first()
    .getAttribute("href");
  const other = await browser.newContext();
  const stranger = await other.newPage();
  await signUp(stranger, stack);
  await stranger.goto(`${stack.siteUrl}${path ?? ""}`);
  await expect(stranger.getByText("There is no such event")).toBeVisible();
  await other.close();
});
