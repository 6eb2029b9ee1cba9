import type { WebSocketRoute } from "@playwright/test";
import { expect, fillJob, open, rowsOf, signUp, test } from "./stack.ts";

test("while another filter's page is on its way, there is no next page to go to", async ({ page, stack }) => {
  // What the server says waits here while it is held.
  const waiting: (() => void)[] = [];
  let isHeld = false;
  await page.routeWebSocket(/\/api\/.*sync$/, (socket: WebSocketRoute) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      if (isHeld) waiting.push(() => socket.send(message));
      else socket.send(message);
    });
  });
  await signUp(page, stack);
  await open(page, "Jobs");
  await fillJob(page, { units: 10, stepUnits: 1, steps: 1, pace: "every 0.5 s" });
  const pages = page.getByRole("navigation", { name: "Pages of jobs" });
  const older = pages.getByRole("button", { name: "Older" });
  for (let started = 0; started < 25; started += 5) {
    await page.getByRole("button", { name: "Start five at once" }).click();
    await expect(page.getByText("5 of 5 started")).toBeVisible();
  }
  await expect(page.getByRole("table", { name: "Jobs" }).getByText("running")).toHaveCount(0);
  // A page that was opened with all there was grows; opened again it has its twenty.
  await page.reload();
  await expect(older).toBeEnabled();

  isHeld = true;
  await page.getByLabel("Status", { exact: true }).selectOption("completed");
  await expect(older).toHaveAttribute("aria-disabled", "true");
  await older.click({ force: true });
  isHeld = false;
  for (const send of waiting.splice(0)) send();
  await expect(older).toHaveAttribute("aria-disabled", "false");
  await expect(pages.getByText("Page 1")).toBeVisible();

  isHeld = true;
  await older.click();
  await older.click({ force: true });
  isHeld = false;
  for (const send of waiting.splice(0)) send();
  await expect(pages.getByText("Page 2")).toBeVisible();
  await expect(older).toBeDisabled();
  await expect(rowsOf(page, "Jobs")).toHaveCount(5);
});
