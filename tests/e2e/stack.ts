import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, expect, type Page, test as base } from "@playwright/test";
import { startTempStack, type TempStack } from "../../scripts/support/temp-stack.ts";

/** Starting a stack includes the build, when the sources have changed since the last one. */
const START_TIMEOUT_MS = 600_000;

/** A test with the whole product running: `npm start` on free ports and a fresh data directory, one for each worker. */
export const test = base.extend<object, { tokenLifeSeconds: number; stack: TempStack }>({
  tokenLifeSeconds: [86_400, { scope: "worker", option: true }],
  stack: [
    async ({ tokenLifeSeconds }, use) => {
      const folder = mkdtempSync(join(tmpdir(), "holdfast-e2e-"));
      const env = { KINDE_EMULATOR_TOKEN_LIFE_SECONDS: String(tokenLifeSeconds) };
      const stack = await startTempStack(join(folder, "data"), { env });
      await use(stack);
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    },
    { scope: "worker", timeout: START_TIMEOUT_MS },
  ],
});

export { expect };

let people = 0;

export interface Person {
  readonly name: string;
  readonly email: string;
}

/** Signs a new person up on the emulator's page and waits for the live account. */
export async function signUp(
  page: Page,
  stack: TempStack,
  { isOperator = false, target = "/app" }: { isOperator?: boolean; target?: string } = {},
): Promise<Person> {
  people += 1;
  const person = { name: `Person ${people}`, email: `person${people}@example.org` };
  await page.goto(`${stack.siteUrl}${target}`);
  await page.getByLabel("Given name").fill("Person");
  await page.getByLabel("Family name").fill(String(people));
  await page.getByLabel("Email").fill(person.email);
  if (isOperator) await page.getByLabel(/operator/).check();
  await page.getByRole("button", { name: "Create and continue" }).click();
  await page.waitForURL(`${stack.siteUrl}${target}`);
  return person;
}

/** Signs a person in who exists already. */
export async function signIn(page: Page, stack: TempStack, person: Person): Promise<void> {
  await page.goto(`${stack.siteUrl}/app`);
  await page.getByRole("button", { name: person.email }).click();
  await page.waitForURL(`${stack.siteUrl}/app`);
}

/** Opens a section of the account, or of the operators, by its link, as a person would. */
export async function open(page: Page, section: string): Promise<void> {
  const sections = page.getByRole("navigation", { name: "Sections" });
  await sections.getByRole("link", { name: section, exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name: section, exact: true })).toBeVisible();
}

/** One of the figures beside the usage bar. */
export function figure(page: Page, name: "Used" | "Held" | "Free" | "Limit") {
  return page.locator("dt", { hasText: new RegExp(`^${name}$`) }).locator("xpath=following-sibling::dd[1]");
}

/** What a table lists: its heads are no rows to screen readers where there is no room for them. */
export function rowsOf(page: Page, table: string) {
  return page
    .getByRole("table", { name: table })
    .getByRole("row")
    .filter({ has: page.getByRole("cell") });
}

export interface JobForm {
  readonly units: number;
  readonly stepUnits: number;
  readonly steps?: number;
  /** As the choice says it, such as "every 5 s". */
  readonly pace?: string;
}

/** Fills the form of the jobs screen, which has to be open. */
export async function fillJob(page: Page, { units, stepUnits, steps, pace }: JobForm): Promise<void> {
  await page.getByLabel("Tokens to hold").fill(String(units));
  await page.getByLabel("Tokens each step").fill(String(stepUnits));
  if (steps !== undefined) await page.getByLabel("Steps", { exact: true }).fill(String(steps));
  if (pace !== undefined) await page.getByLabel("A step", { exact: true }).selectOption(pace);
}

/** Starts a job on the jobs screen, which has to be open. */
export async function startJob(page: Page, form: JobForm): Promise<void> {
  await fillJob(page, form);
  await page.getByRole("button", { name: "Start the job" }).click();
}

/** A running or just ended job of the jobs screen. */
export function liveJob(page: Page) {
  return page.getByRole("region", { name: "At work" }).getByRole("listitem");
}

/** Everything the page's console calls an error; a clean run leaves it empty. */
export function collectErrors(context: BrowserContext): string[] {
  const errors: string[] = [];
  context.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  context.on("weberror", (error) => errors.push(String(error.error())));
  return errors;
}
