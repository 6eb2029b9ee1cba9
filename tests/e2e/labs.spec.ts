import type { Page } from "@playwright/test";
import { expectAccessible, scrollWidth } from "./screen-checks.ts";
import { collectErrors, expect, open, signUp, test } from "./stack.ts";

/** A figure of one side, by its name. */
function figureOf(page: Page, side: string, name: string) {
  const region = page.getByRole("region", { name: side, exact: true });
  return region.locator("dt", { hasText: new RegExp(`^${name}$`) }).locator("xpath=following-sibling::dd");
}

async function runLab(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run both sides" }).click();
  await page.getByRole("button", { name: "To the end" }).click();
  await expect(page.getByRole("region", { name: "What happened, and why" })).toBeVisible();
}

async function runRoom(page: Page, button: string): Promise<void> {
  await page.getByRole("button", { name: button }).click();
  await page.getByRole("button", { name: "To the end" }).click();
  await expect(page.getByRole("region", { name: "At the end" })).toBeVisible();
}

test("S1, S2: the lab runs both sides, and its figures say what the plain check spent over the limit", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  await signUp(page, stack, { isOperator: true, target: "/ops" });
  await open(page, "Concurrency Lab");
  await page.getByRole("button", { name: "Run both sides" }).click();
  // It plays by itself, until it is told to stand still.
  await expect(page.getByText(/^Step ([3-9]|\d\d) of \d+$/)).toBeVisible();
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByRole("button", { name: "Play", exact: true })).toBeVisible();
  await page.getByRole("button", { name: "To the end" }).click();

  await expect(figureOf(page, "Plain check", "Started")).toHaveText("5 of 5");
  await expect(figureOf(page, "Plain check", "Spent so far")).toHaveText("200,000");
  await expect(figureOf(page, "Plain check", "Over the limit")).toHaveText("100,000");
  await expect(
    page.getByRole("region", { name: "Plain check" }).getByText("100,000 over the limit", { exact: true }),
  ).toBeVisible();
  await expect(figureOf(page, "Hold", "Started")).toHaveText("2 of 5");
  await expect(figureOf(page, "Hold", "Refused")).toHaveText("3");
  await expect(figureOf(page, "Hold", "Spent so far")).toHaveText("80,000");
  await expect(figureOf(page, "Hold", "Over the limit")).toHaveText("0");
  const lanes = page.getByRole("list", { name: "Jobs of the hold" });
  await expect(lanes.getByText("read 20,000 free, needs 40,000")).toHaveCount(3);
  const verdict = page.getByRole("region", { name: "What happened, and why" });
  await expect(verdict.getByText("5 × 40,000 = 200,000: 100,000 over the limit")).toBeVisible();

  // Back to the start, and step by step with the keys.
  await page.getByRole("button", { name: "To the start" }).click();
  await expect(figureOf(page, "Plain check", "Started")).toHaveText("0 of 5");
  await expect(lanes.getByText("asks whether it may start")).toHaveCount(5);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(
    page.getByText("Hold, job 1: reads 100,000 free and sets 40,000 aside, in one step.").first(),
  ).toBeVisible();
  await expect(figureOf(page, "Hold", "Held, not spent yet")).toHaveText("40,000");
  await expect(
    page
      .getByRole("region", { name: "Hold", exact: true })
      .getByText("Of what is held: 0 spent so far, 40,000 not spent yet"),
  ).toBeVisible();
  await page.keyboard.press("ArrowLeft");
  await expect(figureOf(page, "Hold", "Started")).toHaveText("0 of 5");

  // Played by itself, at once.
  await page.getByLabel("Speed").selectOption("instant");
  await page.getByRole("button", { name: "Play", exact: true }).click();
  await expect(figureOf(page, "Plain check", "Spent so far")).toHaveText("200,000");
  await page.getByLabel("Speed").selectOption("normal");
  await expect(page.getByRole("button", { name: "Replay" })).toBeVisible();
  await expect(figureOf(page, "Plain check", "Spent so far")).toHaveText("200,000");
  expect(errors).toEqual([]);
});

test("the lab takes other numbers, says what is wrong with some, and opens a past run again", async ({
  page,
  stack,
}) => {
  await signUp(page, stack, { isOperator: true, target: "/ops" });
  await open(page, "Concurrency Lab");
  await page.getByLabel("Jobs", { exact: true }).fill("51");
  await page.getByRole("button", { name: "Run both sides" }).click();
  await expect(page.getByText("jobs must be a whole number from 1 to 50.")).toBeVisible();
  await page.getByLabel("Jobs", { exact: true }).fill("4");
  await page.getByLabel("Tokens each").fill("301");
  await expect(page.getByText("units must divide into 4 equal steps: 301 does not, 300 does.")).toBeVisible();
  await page.getByLabel("Tokens each").fill("300");
  await page.getByLabel("Limit", { exact: true }).fill("1000");
  await runLab(page);
  await expect(figureOf(page, "Plain check", "Over the limit")).toHaveText("200");
  await expect(figureOf(page, "Hold", "Spent so far")).toHaveText("900");

  await page.getByRole("button", { name: /^Room for exactly ten/ }).click();
  await runLab(page);
  await expect(figureOf(page, "Plain check", "Over the limit")).toHaveText("50,000");
  await expect(figureOf(page, "Hold", "Started")).toHaveText("10 of 20");
  await expect(figureOf(page, "Hold", "Spent so far")).toHaveText("50,000");
  await page.getByRole("button", { name: "Open the run of 4 × 300" }).first().click();
  await expect(figureOf(page, "Hold", "Spent so far")).toHaveText("900");
});

test("S10, S11: the Engine Room ends with 2,950 beside 500, and shuffled the pipeline ends the same", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  await signUp(page, stack, { isOperator: true, target: "/ops" });
  await open(page, "Engine Room");
  await runRoom(page, "Run the nine");
  const end = page.getByRole("region", { name: "At the end" });
  await expect(end.getByText("Pro with 2,950")).toBeVisible();
  await expect(end.getByText("2,450 credits too many.")).toBeVisible();
  await expect(end.getByText("Pro with 500", { exact: true })).toBeVisible();
  await expect(figureOf(page, "At the end", "Receipts")).toHaveText("9");
  await expect(figureOf(page, "At the end", "Copies counted")).toHaveText("6");
  await expect(figureOf(page, "At the end", "Pro grants")).toHaveText("1");

  // Delivery 2 is where the worker stops; delivery 7 is the old cancellation.
  const deliveries = page.getByRole("list", { name: "Deliveries" }).getByRole("button");
  await deliveries.nth(1).click();
  await expect(figureOf(page, "Naive handler", "Plan")).toHaveText("Pro");
  await expect(figureOf(page, "Naive handler", "Balance")).toHaveText("10");
  await expect(figureOf(page, "Pipeline", "Plan")).toHaveText("Free");
  const deeds = page.getByRole("list", { name: "What the pipeline did" });
  await expect(deeds.getByText("both are undone")).toBeVisible();
  await page.keyboard.press("ArrowRight");
  await expect(figureOf(page, "Pipeline", "Balance")).toHaveText("500+490");
  await page.keyboard.press("ArrowLeft");
  await expect(figureOf(page, "Pipeline", "Balance")).toHaveText("10");
  await deliveries.nth(6).click();
  await expect(figureOf(page, "Naive handler", "Plan")).toHaveText("Free");
  const naive = page.getByRole("region", { name: "Naive handler" }).first();
  await expect(naive.getByText("The wrong plan, with 1,470 credits more than even Pro has.")).toBeVisible();
  await expect(deeds.getByText("Ignored: a newer plan change is already stored.")).toBeVisible();

  // What is at its end is another run after this.
  await page.getByRole("button", { name: "To the end" }).click();
  await runRoom(page, "Shuffle");
  await expect(page.getByText(/^Shown below: the order of seed \d+\./)).toBeVisible();
  await expect(end.getByText("Pro with 500", { exact: true })).toBeVisible();
  await expect(figureOf(page, "At the end", "Pro grants")).toHaveText("1");
  await page.getByLabel("Seed of the order").fill("7");
  await runRoom(page, "Run this seed");
  await expect(page.getByText("Shown below: the order of seed 7.")).toBeVisible();
  await expect(deliveries.nth(1)).toContainText("Old cancellation");
  await expect(end.getByText("Pro with 500", { exact: true })).toBeVisible();
  await page.getByLabel("Seed of the order").fill("-1");
  await page.getByRole("button", { name: "Run this seed" }).click();
  await expect(page.getByText("A whole number up to 4,294,967,295.")).toBeVisible();
  expect(errors).toEqual([]);
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious in both labs, ${colorScheme}, with motion off`, async ({ page, stack }) => {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await signUp(page, stack, { isOperator: true, target: "/ops" });
    await open(page, "Concurrency Lab");
    await page.getByRole("button", { name: "Run both sides" }).click();
    // Without motion a run is at its end as soon as it is there, with its steps in words.
    await expect(page.getByRole("region", { name: "What happened, and why" })).toBeVisible();
    await expect(page.getByRole("button", { name: /^1\s*Plain check, job 1: reads/ })).toBeVisible();
    await expect(page.getByRole("button", { name: "Play", exact: true })).toHaveCount(0);
    await expectAccessible(page, "Concurrency Lab");
    await open(page, "Engine Room");
    await page.getByRole("button", { name: "Run the nine" }).click();
    await expect(page.getByRole("region", { name: "At the end" })).toBeVisible();
    await expectAccessible(page, "Engine Room");
  });
}

test("on a phone neither lab scrolls sideways", async ({ page, stack }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await signUp(page, stack, { isOperator: true, target: "/ops" });
  await open(page, "Concurrency Lab");
  await runLab(page);
  expect(await scrollWidth(page), "Concurrency Lab").toBeLessThanOrEqual(390);
  await open(page, "Engine Room");
  await runRoom(page, "Run the nine");
  expect(await scrollWidth(page), "Engine Room").toBeLessThanOrEqual(390);
});
