import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { collectErrors, expect, liveJob, open, signIn, signUp, startJob, test } from "./stack.ts";

interface Exported {
  readonly export: { readonly isComplete: boolean; readonly counts: Record<string, number> };
  readonly account: { readonly email: string };
  readonly [part: string]: unknown;
}

async function makeKey(page: Page): Promise<string> {
  await open(page, "API keys");
  await page.getByRole("button", { name: "New key" }).first().click();
  await page.getByLabel("Name").fill("export test");
  await page.getByRole("button", { name: "Make the key" }).click();
  const secret = await page.locator("code", { hasText: /^hf_live_[\w-]{43}$/ }).innerText();
  await page.getByRole("button", { name: "I have it" }).click();
  return secret;
}

async function makeLink(page: Page): Promise<string> {
  await open(page, "Links");
  await page.getByRole("button", { name: "New link" }).first().click();
  await page.getByLabel("Target", { exact: true }).fill("https://example.com/export");
  await page.getByLabel("Title").fill("A link to export");
  await page.getByRole("button", { name: "Make the link" }).click();
  const code = await page.getByRole("table", { name: "Links" }).getByRole("link").first().innerText();
  return code.slice(1);
}

test("the export has the rows and no secret; deleting ends keys and links, and coming back says that it is deleted", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  const person = await signUp(page, stack);
  const secret = await makeKey(page);
  const code = await makeLink(page);
  await open(page, "Jobs");
  await startJob(page, { units: 900, stepUnits: 100, steps: 1 });
  await expect(liveJob(page).getByText("Completed. 100 used")).toBeVisible();
  await open(page, "Reminders");
  await page.getByLabel("Message", { exact: true }).fill("A reminder to export");
  await page.getByRole("button", { name: "Set the reminder" }).click();
  await expect(page.getByRole("table", { name: "Reminders" })).toBeVisible();

  await open(page, "Your data");
  await expect(page.getByRole("region", { name: "Who you are" })).toContainText(person.email);
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export my data" }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toMatch(/^holdfast-export-\d{4}-\d\d-\d\d\.json$/);
  await expect(page.getByText(/rows, everything there is/)).toBeVisible();
  const text = readFileSync(await download.path(), "utf8");
  expect(text).not.toContain(secret);
  const exported = JSON.parse(text) as Exported;
  expect(exported.export.isComplete).toBe(true);
  expect(exported.account.email).toBe(person.email);
  expect(exported.export.counts).toMatchObject({ jobs: 1, entries: 1, links: 1, reminders: 1, keys: 1 });
  expect(exported).toMatchObject({
    jobs: [{ status: "completed", usedUnits: 100 }],
    entries: [{ feature: "tokens", units: 100 }],
    links: [{ code, title: "A link to export" }],
    reminders: [{ text: "A reminder to export", status: "waiting" }],
    credits: [{ reason: "reminder" }, { reason: "grant" }],
    keys: [{ name: "export test", prefix: secret.slice(0, 12) }],
  });

  const remove = page.getByRole("button", { name: "Delete my account" });
  await remove.click();
  const dialog = page.getByRole("alertdialog", { name: "Delete this account for good?" });
  const confirm = dialog.getByRole("button", { name: "Delete for good" });
  await expect(confirm).toBeDisabled();
  await dialog.getByLabel(/^Type/).fill("somebody@example.org");
  await expect(confirm).toBeDisabled();
  await dialog.getByLabel(/^Type/).fill(person.email);
  await confirm.click();
  await page.waitForURL(`${stack.siteUrl}/`);
  await expect(page.getByText("Your account is deleted")).toBeVisible();

  const usage = await fetch(`${stack.url}/api/v1/usage`, { headers: { authorization: `Bearer ${secret}` } });
  expect(usage.status).toBe(401);
  // What a redirect knows of a link may be five seconds old.
  await expect(async () => {
    const followed = await fetch(`${stack.url}/${code}`, { redirect: "manual" });
    expect(followed.status).toBe(410);
  }).toPass({ timeout: 20_000 });

  await signIn(page, stack, person);
  await expect(page.getByRole("heading", { level: 1, name: "This account is deleted" })).toBeVisible();
  await page.goto(`${stack.siteUrl}/app/keys`);
  await expect(page.getByRole("heading", { level: 1, name: "This account is deleted" })).toBeVisible();
  await page.getByRole("main").getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(`${stack.siteUrl}/`);
  expect(errors).toEqual([]);
});

test("a running job and a paid plan are in the way of a deletion, each with what to do", async ({
  page,
  stack,
}) => {
  await signUp(page, stack);
  await open(page, "Plan");
  await page.getByRole("listitem", { name: "Starter" }).getByRole("link", { name: "Change plan" }).click();
  await page.getByRole("button", { name: "Choose Starter" }).click();
  await page.waitForURL(`${stack.siteUrl}/app`);
  await open(page, "Jobs");
  await startJob(page, { units: 900, stepUnits: 1, steps: 60 });
  await open(page, "Your data");
  const panel = page.getByRole("region", { name: "Delete the account" });
  const remove = panel.getByRole("button", { name: "Delete my account" });
  await expect(panel.getByText("First end the plan Starter")).toBeVisible();
  await expect(panel.getByText("First end the running job")).toBeVisible();
  await expect(remove).toBeDisabled();

  await panel.getByRole("link", { name: "Jobs" }).click();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("button", { name: "Cancel the job" }).click();
  await expect(page.getByText("Cancelled.")).toBeVisible();
  await open(page, "Your data");
  await expect(panel.getByText("First end the plan Starter")).toBeVisible();
  await expect(panel.getByText("First end the running job")).toHaveCount(0);
  await panel.getByRole("link", { name: "Change plan" }).click();
  await page.getByRole("button", { name: "Choose Free" }).click();
  await page.waitForURL(`${stack.siteUrl}/app`);
  await open(page, "Your data");
  await expect(remove).toBeEnabled();
  await expect(panel.getByText("First end")).toHaveCount(0);
});
