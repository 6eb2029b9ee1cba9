import { expectAccessible, scriptBytes, SCRIPT_BYTES_MAX, scrollWidth } from "./screen-checks.ts";
import { collectErrors, expect, test } from "./stack.ts";

const PAGES = [
  "/",
  "/docs",
  "/docs/concepts",
  "/docs/api",
  "/docs/errors",
  "/docs/going-live",
  "/docs/how-we-know",
];
const MISSING = "/no/such/page";

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious on the pages of the site, ${colorScheme}`, async ({ page, stack }) => {
    test.slow();
    await page.emulateMedia({ colorScheme });
    for (const path of [...PAGES, MISSING]) {
      await page.goto(`${stack.siteUrl}${path}`);
      await expectAccessible(page, path);
    }
  });
}

test("on a phone no page of the site scrolls sideways, and nothing is an error", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of PAGES) {
    const answer = await page.goto(`${stack.siteUrl}${path}`);
    expect(answer?.headers()["content-security-policy"], path).toContain("default-src 'self'");
    expect(await scrollWidth(page), path).toBeLessThanOrEqual(390);
  }
  expect(errors).toEqual([]);
});

test("every link of the site leads somewhere, and every anchor to a place on its page", async ({
  page,
  stack,
}) => {
  const targets = new Set<string>();
  for (const path of PAGES) {
    await page.goto(`${stack.siteUrl}${path}`);
    const links = await page
      .locator("a[href]")
      .evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
    for (const link of links) if (link.startsWith(stack.siteUrl)) targets.add(link);
    const lost = await page
      .locator('a[href^="#"]')
      .evaluateAll((all) =>
        all
          .map((link) => decodeURIComponent((link as HTMLAnchorElement).hash.slice(1)))
          .filter((id) => document.getElementById(id) === null),
      );
    expect(lost, path).toEqual([]);
  }
  const addresses = new Set([...targets].map((link) => link.split("#")[0]!));
  expect(addresses.size).toBeGreaterThan(10);
  for (const address of addresses) {
    // A screen behind the sign-in answers with the way there.
    const { status } = await fetch(address, { redirect: "manual" });
    expect([200, 302, 307], address).toContain(status);
  }
});

test("the API reference has every operation of the document", async ({ page, stack }) => {
  const document = (await (await fetch(`${stack.url}/api/v1/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId?: string; summary?: string }>>;
  };
  const operations = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .filter(({ operationId }) => operationId !== undefined);
  expect(operations.length).toBeGreaterThan(30);
  await page.goto(`${stack.siteUrl}/docs/api`);
  for (const { operationId, summary } of operations) {
    const fold = page.locator("details", { has: page.locator(`[id="${operationId}"]`) }).last();
    await expect(fold.locator("h3")).toHaveText(summary ?? "");
  }
  const start = page.locator("#startJob");
  await expect(start).toBeHidden();
  await page.locator("summary", { hasText: "Hold units and start a job" }).focus();
  await page.keyboard.press("Enter");
  await expect(start).toContainText(`curl -s -X POST ${stack.siteUrl}/api/v1/jobs`);
  await start.getByText("Body", { exact: true }).click();
  await expect(start.getByText("Units to hold")).toBeVisible();
});

test("a link to an operation, or to an object, opens it without a script", async ({ browser, stack }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${stack.siteUrl}/docs/api#getUsage`);
  const usage = page.locator("#getUsage");
  await expect(usage.getByText("Answers", { exact: true })).toBeVisible();
  await usage.getByText("Answers", { exact: true }).click();
  await usage.getByRole("link", { name: /Limit/ }).first().click();
  await expect(page.locator("#Limit").getByText("readAtMs", { exact: true })).toBeVisible();
  await context.close();
});

test("the pages of the site need less JavaScript than a screen may", async ({ page, stack }) => {
  for (const path of ["/", "/docs/api"]) {
    expect(await scriptBytes(page, `${stack.siteUrl}${path}`), path).toBeLessThan(SCRIPT_BYTES_MAX);
  }
});
