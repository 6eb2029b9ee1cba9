import { collectErrors, expect, open, rowsOf, signUp, test } from "./stack.ts";

test("a link is made and clicked, and the click arrives with the reason why it was billed", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  await signUp(page, stack);
  await open(page, "Links");
  await page.getByRole("button", { name: "New link" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New link" });
  await dialog.getByLabel("Target", { exact: true }).fill("no address");
  await dialog.getByRole("button", { name: "Make the link" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await dialog.getByLabel("Target", { exact: true }).fill("https://example.com/autumn");
  await dialog.getByLabel("Title").fill("Autumn sale");
  await dialog.getByLabel("Code").fill("autumn-sale");
  await dialog.getByLabel("Cap on billed clicks").fill("1");
  await dialog.getByRole("button", { name: "Make the link" }).click();
  await expect(page.getByRole("table", { name: "Links" })).toContainText("Autumn sale");

  await page.getByRole("link", { name: "Details of /autumn-sale" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Autumn sale" })).toBeVisible();
  const picture = page.getByRole("img", { name: /^QR code/ });
  await expect(picture).toBeVisible();
  expect(await picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(0);

  const agent = "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36";
  const click = (userAgent: string) =>
    fetch(`${stack.url}/autumn-sale`, { redirect: "manual", headers: { "user-agent": userAgent } });
  expect((await click(agent)).status).toBe(302);
  const clicks = page.getByRole("table", { name: "Entries" });
  await expect(rowsOf(page, "Entries")).toHaveCount(1);
  await expect(clicks).toContainText("1 click");
  await expect(page.getByText("at its cap")).toBeVisible();

  await click("Googlebot/2.1");
  await expect(rowsOf(page, "Entries")).toHaveCount(2);
  await clicks
    .getByRole("row", { name: /Program/ })
    .getByRole("button", { name: "Why?" })
    .click();
  const whyNot = page.getByRole("dialog", { name: "Why was this not billed?" });
  await expect(whyNot.getByText("Not billed", { exact: true })).toBeVisible();
  await expect(whyNot.getByText(/A program asked for it, so it does not count/)).toBeVisible();
  await expect(whyNot.getByText(/^It adds 0 to the meter "clicks"/)).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(whyNot).toBeHidden();

  await open(page, "Entries");
  await expect(rowsOf(page, "Entries")).toHaveCount(1);
  await clicks.getByRole("button", { name: "Why?" }).click();
  const why = page.getByRole("dialog", { name: "Why was this billed?" });
  await expect(why.getByText("Billed: 1 click")).toBeVisible();
  await expect(why.getByText("The link's cap is 1 click; 1 is billed.")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByLabel("Also what was not billed").check();
  await expect(rowsOf(page, "Entries")).toHaveCount(2);
  await page.getByLabel("Search entries").fill("other-code");
  await expect(page.getByText("No entry", { exact: true })).toBeVisible();

  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Export CSV" }).click();
  expect((await download).suggestedFilename()).toMatch(/\.csv$/);
  expect(errors).toEqual([]);
});

test("disabling and deleting ask first; a deleted link leaves the list and its code is gone", async ({
  page,
  stack,
}) => {
  await signUp(page, stack);
  await open(page, "Links");
  await page.getByRole("button", { name: "New link" }).first().click();
  await page.getByLabel("Target", { exact: true }).fill("https://example.com/");
  await page.getByLabel("Code").fill("to-be-deleted");
  await page.getByRole("button", { name: "Make the link" }).click();
  await page.getByRole("link", { name: "Details of /to-be-deleted" }).click();

  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Keep it" }).click();
  await expect(page.getByRole("alertdialog")).toHaveCount(0);
  await expect(page.getByText("active", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
  await expect(page.getByRole("alertdialog")).toHaveCount(0);
  await expect(page.getByText("disabled", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Enable" }).click();
  await expect(page.getByText("active", { exact: true })).toBeVisible();

  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete for good" }).click();
  await page.waitForURL(`${stack.siteUrl}/app/links`);
  await expect(page.getByText("No link yet")).toBeVisible();

  await page.getByRole("button", { name: "New link" }).first().click();
  await page.getByLabel("Target", { exact: true }).fill("https://example.com/");
  await page.getByLabel("Code").fill("to-be-deleted");
  await page.getByRole("button", { name: "Make the link" }).click();
  await expect(page.getByText(/The code to-be-deleted is taken/)).toBeVisible();
});
