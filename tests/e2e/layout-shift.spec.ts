import type { Page } from "@playwright/test";
import { expect, liveJob, open, signUp, startJob, test } from "./stack.ts";

/** What web vitals call good, of all shifts of a load together. */
const SHIFT_MAX = 0.1;

const SIZES = [
  { width: 1280, height: 900 },
  { width: 390, height: 844 },
] as const;

const CUSTOMER_PATHS = [
  "/app",
  "/app/jobs",
  "/app/links",
  "/app/entries",
  "/app/reminders",
  "/app/plan",
  "/app/events",
  "/app/keys",
  "/app/account",
] as const;

interface Shift {
  readonly value: number;
  readonly hadRecentInput: boolean;
  readonly sources: readonly { readonly node: Node | null }[];
}

/** Opens an address and answers how much of the page moved by itself until all of it was there, and what did. */
async function loadShift(page: Page, url: string): Promise<{ sum: number; moved: string[] }> {
  await page.goto(url, { waitUntil: "networkidle" });
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByText(/^Loading/)).toHaveCount(0);
  // Charts draw once their library has come.
  await expect(page.locator("figure:not(:has(canvas))")).toHaveCount(0);
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        const observer = new PerformanceObserver((list) => tell(list.getEntries() as unknown as Shift[]));
        const tell = (shifts: readonly Shift[]): void => {
          const own = shifts.filter(({ hadRecentInput }) => !hadRecentInput);
          const moved = own.flatMap(({ value, sources }) =>
            sources.map(({ node }) => {
              const element = node instanceof Element ? node : node?.parentElement;
              return `${value.toFixed(3)} ${element?.outerHTML.slice(0, 120) ?? "gone"}`;
            }),
          );
          observer.disconnect();
          resolve({ sum: own.reduce((sum, { value }) => sum + value, 0), moved });
        };
        observer.observe({ type: "layout-shift", buffered: true });
        // No entry at all tells nothing; by then the buffered ones have been told.
        requestAnimationFrame(() =>
          requestAnimationFrame(() => tell(observer.takeRecords() as unknown as Shift[])),
        );
      }),
  );
}

async function expectStill(page: Page, siteUrl: string, paths: readonly string[]): Promise<void> {
  for (const size of SIZES) {
    await page.setViewportSize(size);
    for (const path of paths) {
      const { sum, moved } = await loadShift(page, `${siteUrl}${path}`);
      console.log(`${path} at ${size.width}: ${sum.toFixed(3)}`);
      expect.soft(sum, `${path} at ${size.width}: ${moved.join("\n")}`).toBeLessThan(SHIFT_MAX);
    }
  }
}

test("nothing jumps while the screens of a new customer load", async ({ page, stack }) => {
  await signUp(page, stack);
  await expectStill(page, stack.siteUrl, CUSTOMER_PATHS);
});

test("nothing jumps while screens load that have something to show", async ({ page, stack }) => {
  await signUp(page, stack);
  await open(page, "Jobs");
  // Over 80% of the limit, so that the usage screen has a notice as well.
  await startJob(page, { units: 9_000, stepUnits: 8_500, steps: 1 });
  await expect(liveJob(page).getByText("Completed. 8,500 used")).toBeVisible();
  await open(page, "Links");
  await page.getByRole("button", { name: "New link" }).first().click();
  await page.getByLabel("Target", { exact: true }).fill("https://example.com/");
  await page.getByRole("button", { name: "Make the link" }).click();
  const linkPath = await page
    .getByRole("link", { name: /^Details of/ })
    .first()
    .getAttribute("href");
  await open(page, "Reminders");
  await page.getByLabel("Message", { exact: true }).fill("A reminder");
  await page.getByRole("button", { name: "Set the reminder" }).click();
  await expect(page.getByRole("table", { name: "Reminders" })).toBeVisible();
  await open(page, "Billing events");
  const eventPath = await page
    .getByRole("link", { name: /^Details of/ })
    .first()
    .getAttribute("href");
  await expectStill(page, stack.siteUrl, [...CUSTOMER_PATHS, linkPath ?? "", eventPath ?? ""]);
});

test("nothing jumps while the landing page and the operator's overview load", async ({ page, stack }) => {
  await expectStill(page, stack.siteUrl, ["/"]);
  await signUp(page, stack, { isOperator: true, target: "/ops" });
  await expectStill(page, stack.siteUrl, ["/ops"]);
});
