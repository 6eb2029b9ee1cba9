import {
  collectErrors,
  expect,
  figure,
  fillJob,
  liveJob,
  open,
  rowsOf,
  signUp,
  startJob,
  test,
} from "./stack.ts";

test("five at once: those that fit start, the others are told that the running ones hold the room", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  await signUp(page, stack);
  await open(page, "Jobs");
  await fillJob(page, { units: 4_000, stepUnits: 100, steps: 20 });
  await page.getByRole("button", { name: "Start five at once" }).click();

  const outcome = page.getByRole("region", { name: "Start jobs" }).getByRole("status");
  await expect(outcome.getByText("2 of 5 started")).toBeVisible();
  await expect(outcome.getByText("8,000 tokens are held for them.")).toBeVisible();
  await expect(outcome.getByText("3 of 5 refused: your own running jobs hold the room")).toBeVisible();
  await expect(
    outcome.getByText("You asked for 4,000; 2,000 of 10,000 are free and 8,000 are held by running jobs."),
  ).toBeVisible();
  // A larger plan is not what this needs.
  await expect(outcome.getByRole("link", { name: "See the plans" })).toHaveCount(0);
  await expect(liveJob(page).getByText("running")).toHaveCount(2);

  // The answer is gone with the page; that they were refused, and why, is not.
  const refused = rowsOf(page, "Refusals");
  await page.reload();
  await expect(refused).toHaveCount(3);
  await expect(refused.last()).toContainText("Your own running jobs hold the room");
  await expect(refused.last()).toContainText("4,000");

  await open(page, "Usage");
  await expect(figure(page, "Held")).toHaveText("8,000");
  await expect(rowsOf(page, "Holds")).toHaveCount(2);
  expect(errors).toEqual([]);
});

test("with the numbers that stand there a new customer sees the gate at work, and the notes stay true", async ({
  page,
  stack,
}) => {
  await signUp(page, stack);
  await open(page, "Jobs");
  const room = page.getByRole("region", { name: "Room" });
  await expect(room).toContainText("10,000 free");
  await page.getByRole("button", { name: "Start five at once" }).click();
  const outcome = page.getByRole("region", { name: "Start jobs" }).getByRole("status");
  await expect(outcome.getByText("3 of 5 started")).toBeVisible();
  await expect(outcome.getByText("9,000 tokens are held for them.")).toBeVisible();
  await expect(outcome.getByText("2 of 5 refused: your own running jobs hold the room")).toBeVisible();
  await expect(
    outcome.getByText(/^Wait for one to end, or ask for at most 1,000\. The earliest/),
  ).toBeVisible();
  await expect(outcome.getByText(/The earliest lease ends in \d+ s, unless/)).toBeVisible();
  await expect(room.getByRole("img")).toHaveAccessibleName(/ of 10,000$/);

  const ended = outcome.getByText(
    "All of them have ended: 3,000 tokens used, 6,000 came back, nothing is held any more.",
  );
  await expect(ended).toBeVisible();
  await expect(outcome.getByText("None of them runs any more: try again.")).toBeVisible();
  await expect(room).toContainText("3,000 used0 held7,000 free");
  // Each of the last steps has a line, whatever came at once.
  const log = liveJob(page).first();
  for (const [step, units] of [
    [7, "700"],
    [8, "800"],
    [9, "900"],
    [10, "1,000"],
  ]) {
    await expect(log.getByText(`Step ${step}: charged 100, ${units} in all.`)).toBeVisible();
  }
});

test("a limit that is used up says so, with the numbers and the way on", async ({ page, stack }) => {
  await signUp(page, stack);
  await open(page, "Jobs");
  await startJob(page, { units: 8_500, stepUnits: 8_500, steps: 1 });
  await expect(liveJob(page).getByText("Completed. 8,500 used, 0 returned.")).toBeVisible();
  await open(page, "Usage");
  await expect(page.getByText("85% of the limit is used")).toBeVisible();

  await open(page, "Jobs");
  const start = page.getByRole("region", { name: "Start jobs" });
  // There is room left, so it is not used up, and the hold that would be refused is not offered.
  await expect(start).toContainText("Suggested hold: 8,500, more than the 1,500 that are free now.");
  await startJob(page, { units: 2_000, stepUnits: 1 });
  await expect(start.getByRole("status").getByText("Not enough is left of the limit")).toBeVisible();
  await expect(start.getByRole("status").getByText(/^Ask for at most 1,500, choose/)).toBeVisible();
  await startJob(page, { units: 1_500, stepUnits: 1_500, steps: 1 });
  await expect(liveJob(page).getByText("Completed. 1,500 used, 0 returned.")).toBeVisible();
  await startJob(page, { units: 1, stepUnits: 1 });
  const outcome = page.getByRole("region", { name: "Start jobs" }).getByRole("status");
  await expect(outcome.getByText("The limit is used up")).toBeVisible();
  await expect(outcome.getByText("0 of 10,000 are free (10,000 used, 0 held)")).toBeVisible();
  await expect(outcome.getByRole("link", { name: "See the plans" })).toBeVisible();
  await open(page, "Usage");
  await expect(page.getByText("The limit is used up (100%)")).toBeVisible();
});

test("a killed worker's hold comes back when its lease has ended", async ({ page, stack }) => {
  await signUp(page, stack);
  await open(page, "Jobs");
  await startJob(page, { units: 3_000, stepUnits: 100, steps: 20 });
  await expect(liveJob(page).getByText(/^Step 1: charged 100/)).toBeVisible();
  await page.getByRole("button", { name: "Kill the worker" }).click();
  await expect(liveJob(page).getByText("no worker")).toBeVisible();
  await open(page, "Usage");
  await expect(figure(page, "Held")).toHaveText("3,000");
  await open(page, "Jobs");
  const ended = liveJob(page).getByText(/^The lease ended without a sign of life; the hold came back/);
  await expect(ended).toBeVisible({ timeout: 40_000 });
  await open(page, "Usage");
  await expect(figure(page, "Held")).toHaveText("0");
});

test("heartbeat, extension and cap are seen as they happen", async ({ page, stack }) => {
  await signUp(page, stack);
  await open(page, "Jobs");
  await startJob(page, { units: 1_000, stepUnits: 600, steps: 4, pace: "every 5 s" });
  await page.getByRole("button", { name: "Heartbeat" }).click();
  await expect(liveJob(page).getByText(/^Sign of life/)).toBeVisible();
  await page.getByRole("button", { name: "Extend by 500" }).click();
  await expect(liveJob(page).getByText("Extended by 500 to 1,500.")).toBeVisible();
  await expect(
    liveJob(page).getByText(
      "Capped: the step wanted 300 more than the hold had left. 1,500 used, 0 returned.",
    ),
  ).toBeVisible();

  // What it took is now an estimate for the next of its kind.
  await expect(page.getByRole("button", { name: "Use 1,800" })).toBeVisible();
  await page.getByRole("button", { name: "Use 1,800" }).click();
  await expect(page.getByLabel("Tokens to hold")).toHaveValue("1800");
  await expect(page.getByRole("table", { name: "Estimates by kind" })).toContainText("1,800");
  const estimates = page.getByRole("region", { name: "Estimates against real cost" });
  await expect(estimates).toContainText(
    "The newest job of the kind report held 1,500 tokens and used 1,500 of them (100%). The suggested hold is 1,800 for each.",
  );
  await expect(estimates.getByRole("figure", { name: /^Held and used/ }).locator("canvas")).toBeVisible();
  await estimates.getByText("The numbers").click();
  await expect(estimates.getByRole("columnheader", { name: "Wanted beyond the hold" })).toBeVisible();
});

test("jobs are found by key and by status", async ({ page, stack }) => {
  await signUp(page, stack);
  await open(page, "Jobs");
  await startJob(page, { units: 500, stepUnits: 10, steps: 1 });
  await expect(liveJob(page).getByText(/^Completed/)).toBeVisible();
  const found = rowsOf(page, "Jobs");
  await expect(found).toHaveCount(1);
  const all = page.getByRole("region", { name: "All jobs" });
  await all.getByLabel("Status").selectOption("expired");
  await expect(all.getByText("No job fits")).toBeVisible();
  await all.getByLabel("Status").selectOption("completed");
  await expect(found).toHaveCount(1);
  await all.getByLabel("Search by key").fill("nothing-like-it");
  await expect(all.getByText("No job fits")).toBeVisible();
  await all.getByLabel("Search by key").fill("screen-");
  await expect(found).toHaveCount(1);
});
