import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTempStack } from "../../scripts/support/temp-stack.ts";
import { runScript } from "../scripts/run-script.ts";
import { expect, figure, signUp, test } from "./stack.ts";

/** A stack of its own, whose clock is moved; it may build. */
const START_TIMEOUT_MS = 600_000;

test("whoever comes back after ten minutes sees numbers, on each screen that has them", async ({ page }) => {
  test.setTimeout(START_TIMEOUT_MS);
  const folder = mkdtempSync(join(tmpdir(), "holdfast-returning-"));
  const dataDir = join(folder, "data");
  const stack = await startTempStack(dataDir, { more: ["--test-clock"] });
  const comeBackTo = async (path: string) => {
    await page.goto("about:blank");
    const clock = ["--import", "tsx", "scripts/clock.ts", "--data-dir", dataDir, "--advance", "11m"];
    expect(await runScript(clock)).toMatchObject({ status: 0 });
    await page.goto(`${stack.siteUrl}${path}`);
  };
  try {
    await signUp(page, stack);
    await expect(figure(page, "Limit")).toHaveText("10,000");
    await comeBackTo("/app");
    await expect(figure(page, "Limit")).toHaveText("10,000");
    await expect(figure(page, "Free")).toHaveText("10,000");
    await comeBackTo("/app/plan");
    await expect(page.getByText("0 of 10,000")).toBeVisible();
    await comeBackTo("/app/jobs");
    await expect(page.getByRole("region", { name: "Room" })).toContainText("limit 10,000");

    // Where the provider does not answer it stays unknown, and is drawn as that.
    const fault = { endpoint: "GET /api/v1/billing/entitlements", fault: "status_503" };
    const set = await fetch(`${stack.kindeUrl}/control/faults`, {
      method: "POST",
      headers: { authorization: `Bearer ${stack.kindeControlKey}`, "content-type": "application/json" },
      body: JSON.stringify(fault),
    });
    expect(set.status).toBe(201);
    await comeBackTo("/app/plan");
    await expect(page.getByText("(limit not known)")).toBeVisible();
    const bar = page.getByRole("img", { name: "0 tokens used and 0 held (limit not known)" });
    await expect(bar).toBeVisible();
    await expect(bar.locator("div")).toHaveCount(0);
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
