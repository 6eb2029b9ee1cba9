import type { Page } from "@playwright/test";
import type { TempStack } from "../../scripts/support/temp-stack.ts";
import { collectErrors, expect, open, type Person, signUp, test } from "./stack.ts";

const AGENT = "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36";

/** One call of the emulator's control API. */
async function control<Answer>(
  stack: TempStack,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const response = await fetch(`${stack.kindeUrl}/control${path}`, {
    method,
    headers: { authorization: `Bearer ${stack.kindeControlKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.ok, `${method} ${path}`).toBe(true);
  return (await response.json()) as Answer;
}

interface State {
  readonly users: { readonly id: string; readonly email: string; readonly customerId: string }[];
  readonly agreements: { readonly id: string; readonly customerId: string }[];
}

async function agreementOf(stack: TempStack, { email }: Person): Promise<string> {
  const { users, agreements } = await control<State>(stack, "GET", "/state");
  const user = users.find((one) => one.email === email);
  return agreements.find(({ customerId }) => customerId === user?.customerId)?.id ?? "";
}

/** Makes a link on the links screen, which has to be open. */
async function makeLink(page: Page, code: string): Promise<void> {
  await page.getByRole("button", { name: "New link" }).first().click();
  await page.getByLabel("Target", { exact: true }).fill("https://example.com/");
  await page.getByLabel("Code").fill(code);
  await page.getByRole("button", { name: "Make the link" }).click();
  await expect(page.getByRole("link", { name: `Details of /${code}` })).toBeVisible();
}

async function click(stack: TempStack, code: string, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const answer = await fetch(`${stack.url}/${code}`, {
      redirect: "manual",
      headers: { "user-agent": AGENT },
    });
    expect(answer.status).toBe(302);
  }
}

test("a meter that somebody else wrote to is found, repaired and read back, and a lost answer too", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  const person = await signUp(page, stack, { isOperator: true });
  await open(page, "Links");
  await makeLink(page, "to-reconcile");
  await click(stack, "to-reconcile", 3);
  await open(page, "Entries");
  await expect(page.getByRole("table", { name: "Entries" }).getByRole("row")).toHaveCount(4);

  await page.goto(`${stack.siteUrl}/ops/reconciliation`);
  const row = page.getByRole("table", { name: "Meters" }).getByRole("row", { name: person.email });
  await expect(row).toContainText("clicks");
  await page.getByRole("button", { name: "Run now" }).click();
  await expect(page.getByText("The run ended well")).toBeVisible();
  await expect(row.getByRole("cell").nth(2)).toHaveText(/3$/);

  // Somebody else adds four to the meter.
  const agreementId = await agreementOf(stack, person);
  await control(stack, "POST", "/meter", { agreementId, featureKey: "clicks", deltaUnits: 4 });
  await page.getByRole("button", { name: "Run now" }).click();
  await expect(
    page.getByText("the meter showed 7, the ledger 3. 3 was written and 3 read back."),
  ).toBeVisible();
  await expect(row).toContainText("Repaired");

  await row.getByRole("link", { name: `Evidence of ${person.email}` }).click();
  await expect(page.getByRole("heading", { level: 1, name: person.email })).toBeVisible();
  const newest = page.getByRole("list", { name: "Evidence" }).getByRole("listitem").first();
  await expect(newest).toContainText("difference +4");
  await expect(newest).toContainText("over-billed");
  await expect(newest).toContainText("something else wrote to the meter");
  await expect(newest).toContainText("3 was written as the meter's total.");
  await expect(newest).toContainText("3 was read back: the meter is right.");

  // The answer to the write of a repair is lost; the read-back shows that it arrived.
  await control(stack, "POST", "/meter", { agreementId, featureKey: "clicks", deltaUnits: 2 });
  const lost = { endpoint: "POST /api/v1/billing/meter_usage", fault: "lost_reply", count: 1 };
  await control(stack, "POST", "/faults", lost);
  await page.getByRole("button", { name: "Read its meters now" }).click();
  await expect(
    page.getByText("the meter showed 5, the ledger 3. 3 was written and 3 read back."),
  ).toBeVisible();
  await expect(newest).toContainText("difference +2");
  await page.getByRole("button", { name: "Read its meters now" }).click();
  await expect(newest).toContainText("found again");
  await expect(page.getByText("shows exactly what the ledger adds up to")).toBeVisible();
  expect(errors).toEqual([]);
});
