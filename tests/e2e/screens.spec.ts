import type { Page } from "@playwright/test";
import { expectAccessible, SCRIPT_BYTES_MAX, scriptBytes, scrollWidth } from "./screen-checks.ts";
import { collectErrors, expect, liveJob, open, signUp, startJob, test } from "./stack.ts";

/** Of every screen of a customer: its section, and what is there once it has its data. */
const SECTIONS = [
  "Usage",
  "Jobs",
  "Links",
  "Entries",
  "Reminders",
  "Plan",
  "Billing events",
  "API keys",
  "Your data",
] as const;

async function prepare(page: Page): Promise<void> {
  await open(page, "Jobs");
  for (const steps of [1, 2]) {
    await startJob(page, { units: 900, stepUnits: 100, steps });
    await expect(liveJob(page).getByText(`Completed. ${steps * 100} used`)).toBeVisible();
  }
  await open(page, "Links");
  await page.getByRole("button", { name: "New link" }).first().click();
  await page
    .getByLabel("Target", { exact: true })
    .fill("https://example.com/a/rather/long/address?with=a&query=too");
  await page.getByLabel("Title").fill("A link with a title that is long enough to need more than one line");
  await page.getByRole("button", { name: "Make the link" }).click();
  await expect(page.getByRole("table", { name: "Links" })).toBeVisible();
  await open(page, "Reminders");
  await page
    .getByLabel("Message", { exact: true })
    .fill("A reminder with a text that is long enough to need more than one line");
  await page.getByRole("button", { name: "Set the reminder" }).click();
  await expect(page.getByRole("table", { name: "Reminders" })).toBeVisible();
  await open(page, "Billing events");
  await expect(page.getByRole("table", { name: "Billing events" })).toBeVisible();
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious on any screen or dialog, ${colorScheme}`, async ({ page, stack }) => {
    await page.emulateMedia({ colorScheme });
    await signUp(page, stack);
    await prepare(page);
    for (const section of SECTIONS) {
      await open(page, section);
      await expect(page.getByText(/^Loading/)).toHaveCount(0);
      await expectAccessible(page, section);
    }
    await page.getByRole("button", { name: "Delete my account" }).click();
    await expectAccessible(page, "delete the account");
    await page.keyboard.press("Escape");
    await open(page, "Billing events");
    await page
      .getByRole("link", { name: /^Details of/ })
      .first()
      .click();
    await expect(page.getByRole("table", { name: "Deliveries" })).toBeVisible();
    await expectAccessible(page, "event");
    await open(page, "API keys");
    await page.getByRole("button", { name: "New key" }).first().click();
    await expectAccessible(page, "new key");
    await page.keyboard.press("Escape");
    await open(page, "Links");
    await page.getByRole("link", { name: /^Details of/ }).click();
    await expect(page.getByRole("img", { name: /^QR code/ })).toBeVisible();
    await expectAccessible(page, "link");
    await page.getByRole("button", { name: "Delete" }).click();
    await expect(page.getByRole("alertdialog")).toBeVisible();
    await expectAccessible(page, "delete");
  });
}

test("on a phone no screen scrolls sideways, and nothing is an error", async ({ page, context, stack }) => {
  const errors = collectErrors(context);
  await page.setViewportSize({ width: 390, height: 844 });
  await signUp(page, stack);
  await prepare(page);
  for (const section of SECTIONS) {
    await open(page, section);
    await expect(page.getByText(/^Loading/)).toHaveCount(0);
    expect(await scrollWidth(page), section).toBeLessThanOrEqual(390);
  }
  await open(page, "Links");
  await page.getByRole("link", { name: /^Details of/ }).click();
  await expect(page.getByRole("img", { name: /^QR code/ })).toBeVisible();
  expect(await scrollWidth(page), "link").toBeLessThanOrEqual(390);
  await open(page, "Billing events");
  await page
    .getByRole("link", { name: /^Details of/ })
    .first()
    .click();
  await expect(page.getByRole("table", { name: "Deliveries" })).toBeVisible();
  expect(await scrollWidth(page), "event").toBeLessThanOrEqual(390);
  expect(errors).toEqual([]);
});

test("the keyboard is enough: skip link, sections, a dialog and back", async ({ page, stack }) => {
  await signUp(page, stack);
  await page.goto(`${stack.siteUrl}/app/keys`);
  await expect(page.getByRole("heading", { level: 1, name: "API keys" })).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  await page.getByRole("button", { name: "New key" }).first().focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "New key" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "New key" }).first()).toBeFocused();
});

test("the theme that was chosen stays over a reload", async ({ page, stack }) => {
  await signUp(page, stack);
  const isDark = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
  expect(await isDark()).toBe("light dark");
  await page
    .getByRole("button", { name: /^Theme/ })
    .filter({ visible: true })
    .click();
  await page
    .getByRole("button", { name: /^Theme: light/ })
    .filter({ visible: true })
    .click();
  expect(await isDark()).toBe("dark");
  await page.reload();
  expect(await isDark()).toBe("dark");
});

test("each screen needs less than 250 KB of compressed JavaScript", async ({ page, stack }) => {
  await signUp(page, stack);
  await prepare(page);
  const details = page.getByRole("link", { name: /^Details of/ }).first();
  const eventPath = await details.getAttribute("href");
  await open(page, "Links");
  const linkPath = await details.getAttribute("href");
  const paths = [
    "/app",
    "/app/jobs",
    "/app/links",
    linkPath ?? "",
    "/app/entries",
    "/app/reminders",
    "/app/plan",
    "/app/events",
    eventPath ?? "",
    "/app/keys",
    "/app/account",
  ];
  for (const path of paths) {
    const bytes = await scriptBytes(page, `${stack.siteUrl}${path}`);
    const name = path.replace(/(links|events)\/.*/, "$1/{id}");
    console.log(`${name}: ${Math.round(bytes / 1000)} KB of JavaScript, gzipped`);
    expect(bytes, path).toBeLessThan(SCRIPT_BYTES_MAX);
  }
});
