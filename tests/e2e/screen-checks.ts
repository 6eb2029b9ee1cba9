import { gzipSync } from "node:zlib";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page, Response } from "@playwright/test";
import { expect } from "./stack.ts";

/** The JavaScript a customer's screen may need, compressed as a server in front would do it. */
export const SCRIPT_BYTES_MAX = 250_000;

/** Fails with what axe calls serious or worse on the page as it stands; `what` names the page in the message. */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  // Text that is fading in has no contrast yet.
  await page.emulateMedia({ reducedMotion: "reduce" });
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${what}: ${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
  expect(found).toEqual([]);
}

/** Wider than the viewport when the page scrolls sideways. */
export function scrollWidth(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}

/** The scripts that opening an address needs, each compressed, in bytes. */
export async function scriptBytes(page: Page, url: string): Promise<number> {
  const sizes = new Map<string, Promise<number>>();
  const listen = (response: Response): void => {
    if (response.request().resourceType() !== "script") return;
    sizes.set(
      response.url(),
      response.body().then((body) => gzipSync(body).length),
    );
  };
  page.on("response", listen);
  await page.goto(url, { waitUntil: "networkidle" });
  page.off("response", listen);
  return (await Promise.all(sizes.values())).reduce((sum, size) => sum + size, 0);
}
