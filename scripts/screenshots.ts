// `npm run screenshots`: starts the product, does what a new user does, and takes the pictures of README.md into
// docs/screenshots. They show the product as it is, because nothing is drawn by hand.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type BrowserContextOptions, chromium, type Page } from "@playwright/test";
import config from "../playwright.config.ts";
import { fillJob, open, signUp, startJob } from "../tests/e2e/stack.ts";
import { helpText, parseOptions, runMain } from "./support/cli.mjs";
import { ROOT } from "./support/root.ts";
import { startTempStack, type TempStack } from "./support/temp-stack.ts";
import { withTempFolder } from "./support/temp-engine.ts";

const USAGE = `npm run screenshots: starts the product and does what a new user does, in a browser.
Writes the pictures of README.md over those in docs/screenshots.`;

const FOLDER = join(ROOT, "docs/screenshots");
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
/** Charts and live rows have arrived, and nothing moves any more. */
const SETTLE_MS = 1_500;

await runMain("screenshots", async (argv) => {
  if (parseOptions({}, argv).help) {
    console.log(helpText(USAGE, {}));
    return 0;
  }
  mkdirSync(FOLDER, { recursive: true });
  await withTempFolder(async (folder) => {
    const stack = await startTempStack(join(folder, "data"));
    const browser = await chromium.launch(config.use?.launchOptions ?? {});
    try {
      const options: BrowserContextOptions = {
        viewport: DESKTOP,
        locale: "en-GB",
        timezoneId: "Europe/Berlin",
        reducedMotion: "reduce",
        colorScheme: "light",
      };
      await takeAll(await (await browser.newContext(options)).newPage(), stack);
    } finally {
      await browser.close();
      await stack.stop();
    }
  });
  return 0;
});

async function takeAll(page: Page, stack: TempStack): Promise<void> {
  await page.goto(stack.siteUrl);
  await take(page, "landing");
  await signUp(page, stack, { isOperator: true });
  await customer(page, stack);
  await operator(page, stack);
  await page.setViewportSize(PHONE);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${stack.siteUrl}/app`);
  await take(page, "usage-phone-dark");
}

async function customer(page: Page, stack: TempStack): Promise<void> {
  await open(page, "Jobs");
  await startJob(page, { units: 900, stepUnits: 150, steps: 4 });
  await page.getByText("Completed. 600 used").waitFor();
  await fillJob(page, { units: 4_000, stepUnits: 300, steps: 8, pace: "every 5 s" });
  await page.getByRole("button", { name: "Start five at once" }).click();
  await page.getByText(/of 5 refused/).waitFor();
  await take(page, "jobs");
  await open(page, "Usage");
  await take(page, "usage");
  await link(page, stack);
  await open(page, "Entries");
  await page.getByRole("button", { name: "Why?" }).first().click();
  await page.getByRole("dialog", { name: /^Why/ }).waitFor();
  await take(page, "why");
  await page.keyboard.press("Escape");
}

async function link(page: Page, stack: TempStack): Promise<void> {
  await open(page, "Links");
  await page.getByRole("button", { name: "New link" }).first().click();
  await page.getByLabel("Target", { exact: true }).fill("https://example.com/spring");
  await page.getByLabel("Title").fill("Spring sale");
  await page.getByRole("button", { name: "Make the link" }).click();
  const made = await page.getByText(/^\/\S+ is made$/).textContent();
  const code = made?.split(" ")[0]?.slice(1) ?? "";
  const browser = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" };
  for (let click = 0; click < 12; click += 1) {
    // One after the other, as people click.
    // oxlint-disable-next-line no-await-in-loop
    await fetch(`${stack.siteUrl}/${code}`, { redirect: "manual", headers: browser });
  }
  await fetch(`${stack.siteUrl}/${code}`, { redirect: "manual", headers: { "user-agent": "curl/8.5.0" } });
  const details = await page.getByRole("link", { name: /^Details of/ }).getAttribute("href");
  // A fresh page has no message of what was made over it.
  await page.goto(`${stack.siteUrl}${details}`);
  await page.getByRole("img", { name: /^QR code/ }).waitFor();
  await take(page, "link");
}

async function operator(page: Page, stack: TempStack): Promise<void> {
  await page.goto(`${stack.siteUrl}/ops/lab`);
  await page.getByRole("button", { name: "Run both sides" }).click();
  await page.getByRole("region", { name: "What happened, and why" }).waitFor();
  await page
    .getByRole("region", { name: "Plain check", exact: true })
    .evaluate((part) => part.scrollIntoView());
  await take(page, "lab");
  await page.goto(`${stack.siteUrl}/ops/engine-room`);
  await page.getByRole("button", { name: "Run the nine" }).click();
  await page.getByRole("region", { name: "At the end" }).waitFor();
  await take(page, "engine-room");
  await page.goto(`${stack.siteUrl}/ops/reconciliation`);
  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByText("The run ended well").waitFor();
  await take(page, "reconciliation");
}

async function take(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(SETTLE_MS);
  await page.screenshot({ path: join(FOLDER, `${name}.png`) });
  console.log(`docs/screenshots/${name}.png`);
}
