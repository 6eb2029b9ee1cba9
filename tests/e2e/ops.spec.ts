import type { Page } from "@playwright/test";
import type { TempStack } from "../../scripts/support/temp-stack.ts";
import { expectAccessible, scrollWidth } from "./screen-checks.ts";
import { collectErrors, expect, fillJob, open, type Person, rowsOf, signUp, test } from "./stack.ts";

/** Of every screen of this part, and its address below /ops. */
const SECTIONS = {
  Overview: "",
  Reconciliation: "/reconciliation",
  Reviews: "/reviews",
  Inbox: "/inbox",
  "Plan drift": "/drift",
  Accounts: "/accounts",
  Audit: "/audit",
  Faults: "/faults",
  Settings: "/settings",
} as const;

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

/** The ids of a person at the provider. */
async function idsOf(stack: TempStack, { email }: Person): Promise<{ userId: string; agreementId: string }> {
  const { users, agreements } = await control<State>(stack, "GET", "/state");
  const user = users.find((one) => one.email === email);
  const agreement = agreements.find(({ customerId }) => customerId === user?.customerId);
  return { userId: user?.id ?? "", agreementId: agreement?.id ?? "" };
}

/** An event whose plan has no key: no attempt can apply it. */
async function tellDeadEvent(stack: TempStack, userId: string): Promise<void> {
  await control(stack, "POST", `/users/${userId}/events`, { type: "plan_changed", data: { plan: {} } });
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
  await expect(rowsOf(page, "Entries")).toHaveCount(3);

  await page.goto(`${stack.siteUrl}/ops/reconciliation`);
  const row = page.getByRole("table", { name: "Meters" }).getByRole("row", { name: person.email });
  await expect(row).toContainText("clicks");
  await page.getByRole("button", { name: "Run now" }).click();
  // Accounts of other tests may have left something that waits for a person.
  await expect(page.getByText(/^The run ended ?(well|, and something is left to look at)$/)).toBeVisible();
  await expect(row).toContainText(/Proven|Repaired/);
  await expect(row.getByRole("cell").nth(2)).toHaveText(/3$/);

  // Somebody else adds four to the meter.
  const { agreementId } = await idsOf(stack, person);
  await control(stack, "POST", "/meter", { agreementId, featureKey: "clicks", deltaUnits: 4 });
  await page.getByRole("button", { name: "Run now" }).click();
  await expect(
    page.getByText("the meter showed 7, the ledger 3. 3 was written and 3 read back."),
  ).toBeVisible();
  await expect(row).toContainText("Repaired");

  // The customer is told the same.
  await page.goto(`${stack.siteUrl}/app`);
  const mine = page.getByRole("list", { name: "Meters" }).getByRole("listitem").first();
  await expect(mine).toContainText("Put right");
  await expect(mine).toContainText(/differed when it was last read, on .*: provider 7, ledger 3/);
  await page.goto(`${stack.siteUrl}/ops/reconciliation`);

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

test("why a customer's job was refused and their click billed is on the page of the account", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  const { email } = await signUp(page, stack, { isOperator: true });
  await open(page, "Jobs");
  await fillJob(page, { units: 4_000, stepUnits: 100, steps: 20, pace: "every 5 s" });
  await page.getByRole("button", { name: "Start five at once" }).click();
  await expect(page.getByText(/of 5 refused/)).toBeVisible();
  await open(page, "Links");
  await makeLink(page, "asked-about");
  await click(stack, "asked-about", 1);

  await page.goto(`${stack.siteUrl}/ops/accounts`);
  await page.getByRole("link", { name: email }).first().click();
  await expect(rowsOf(page, "Holds")).toHaveCount(2);
  await expect(rowsOf(page, "Refusals").first()).toContainText("Your own running jobs hold the room");
  await expect(rowsOf(page, "Refusals").first()).toContainText("2,000 of 10,000 are free");
  const entry = rowsOf(page, "Entries").filter({ hasText: "/asked-about" });
  await entry.getByRole("button", { name: "Why?" }).click();
  const why = page.getByRole("dialog", { name: "Why was this billed?" });
  await expect(why.getByText(/no rule/i).first()).toBeVisible();
  await expectAccessible(page, "why, for an operator");
  await page.keyboard.press("Escape");
  await expectAccessible(page, "an account with entries");
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await scrollWidth(page)).toBeLessThanOrEqual(390);
  expect(errors).toEqual([]);
});

test("a dead letter is found, replayed and signed, and the audit tells who did it", async ({
  page,
  stack,
}) => {
  const person = await signUp(page, stack, { isOperator: true, target: "/ops" });
  const { userId } = await idsOf(stack, person);
  await tellDeadEvent(stack, userId);

  await page.getByRole("link", { name: /^Dead letters 1/ }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Inbox" })).toBeVisible();
  const row = page.getByRole("table", { name: "Events" }).getByRole("row", { name: /Plan changed/ });
  await expect(row).toContainText("dead letter");
  await row.getByRole("button", { name: "Open plan changed" }).click();
  const dialog = page.getByRole("dialog", { name: "plan changed" });
  await expect(dialog).toContainText("data.plan.key");
  await expect(dialog.getByRole("list", { name: "Receipts" }).getByRole("listitem")).toHaveCount(1);
  await expect(dialog.locator("pre")).toContainText(userId);
  await dialog.getByRole("button", { name: "Replay" }).click();
  const question = page.getByRole("alertdialog", { name: "Replay this event?" });
  await question.getByRole("button", { name: "Leave it" }).click();
  await expect(question).toBeHidden();
  await dialog.getByRole("button", { name: "Replay" }).click();
  await question.getByRole("button", { name: "Replay it" }).click();
  await expect(page.getByText("The event is due again")).toBeVisible();
  // It is as dead as before: nothing about it has changed.
  await expect(dialog).toContainText("dead letter");
  await page.keyboard.press("Escape");

  await open(page, "Reviews");
  const review = page.getByRole("list", { name: "Reviews" }).getByRole("listitem").first();
  await expect(review).toContainText("A billing event is dead");
  await review.getByRole("button", { name: /^Decide/ }).click();
  const decision = page.getByRole("dialog", { name: "A billing event is dead" });
  await decision.getByRole("button", { name: "Sign" }).click();
  await expect(decision.getByText("Write down what was done about it.")).toBeVisible();
  await decision.getByLabel("What was done about it").fill("Asked for a proper event");
  await decision.getByRole("button", { name: "Sign" }).click();
  await expect(page.getByText("Nothing waits for a decision")).toBeVisible();
  await page.getByLabel("State").selectOption("decided");
  await expect(review).toContainText("Asked for a proper event");

  await open(page, "Audit");
  const log = page.getByRole("table", { name: "Log" });
  await expect(log).toContainText("Event replayed");
  await expect(log.getByRole("row", { name: /Review decided/ })).toContainText(userId);
});

test("a fault is switched on from the screen and strikes; its key stays on the server", async ({
  page,
  context,
  stack,
}) => {
  const errors = collectErrors(context);
  const bodies: string[] = [];
  page.on("response", (response) => {
    if (response.url().startsWith(stack.siteUrl)) {
      void response.text().then(
        (body) => bodies.push(body),
        () => undefined,
      );
    }
  });
  const person = await signUp(page, stack, { isOperator: true, target: "/ops/faults" });
  await expect(page.getByText("None: everything works as it should.")).toBeVisible();
  await page.getByLabel("How long: Limits cannot be read").selectOption("for a minute");
  await page.getByRole("button", { name: "Switch on Limits cannot be read" }).click();
  const active = page.getByRole("list", { name: "Switched on" });
  await expect(active).toContainText("Limits cannot be read");

  await open(page, "Accounts");
  await page.getByLabel("Search accounts").fill(person.email);
  await page.getByRole("link", { name: `Details of ${person.email}` }).click();
  await page.getByRole("button", { name: "Read the limit" }).click();
  await expect(page.getByText("The limit could not be read from the provider")).toBeVisible();

  await open(page, "Faults");
  await expect(active).toContainText(/struck [1-9]/);
  await page.getByRole("button", { name: "Switch all off" }).click();
  await expect(page.getByText("None: everything works as it should.")).toBeVisible();
  await expect(page.getByRole("list", { name: "Struck last" })).toContainText("Limits cannot be read");
  await open(page, "Accounts");
  await page.getByRole("link", { name: `Details of ${person.email}` }).click();
  await page.getByRole("button", { name: "Read the limit" }).click();
  await expect(page.getByText("The limit was read again")).toBeVisible();
  await expect(page.getByText("The limit could not be read from the provider")).toHaveCount(0);
  expect(bodies.length).toBeGreaterThan(0);
  expect(bodies.some((body) => body.includes(stack.kindeControlKey))).toBe(false);

  const foreign = await page.request.get(`${stack.siteUrl}/ops/faults/control`, {
    headers: { "sec-fetch-site": "cross-site" },
  });
  expect(foreign.status()).toBe(403);
  expect(errors).toEqual([]);
});

test("every screen, and the fault switches, answer 403 to a customer", async ({ page, stack }) => {
  await signUp(page, stack);
  const paths = [...Object.values(SECTIONS), "/reconciliation/x", "/accounts/x", "/faults/control"];
  for (const path of paths) {
    const answer = await page.request.get(`${stack.siteUrl}/ops${path}`);
    expect(answer.status(), path).toBe(403);
  }
  const headers = { "sec-fetch-site": "same-origin" };
  const asked = await page.request.post(`${stack.siteUrl}/ops/faults/control`, {
    headers,
    data: { offer: "webhook_loss", span: "1" },
  });
  expect(asked.status()).toBe(403);
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious on any screen, and a phone scrolls none sideways, ${colorScheme}`, async ({
    page,
    context,
    stack,
  }) => {
    // Thirteen times axe.
    test.slow();
    await page.emulateMedia({ colorScheme });
    const errors = collectErrors(context);
    const person = await signUp(page, stack, { isOperator: true, target: "/ops" });
    const { userId } = await idsOf(stack, person);
    await tellDeadEvent(stack, userId);
    await expect(page.getByRole("link", { name: /^Dead letters [1-9]/ })).toBeVisible();

    async function check(what: string): Promise<void> {
      await expect(page.getByText(/^Loading/)).toHaveCount(0);
      await expectAccessible(page, what);
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await scrollWidth(page), what).toBeLessThanOrEqual(390);
      await page.setViewportSize({ width: 1280, height: 720 });
    }

    for (const section of Object.keys(SECTIONS)) {
      await open(page, section);
      await check(section);
    }
    await open(page, "Accounts");
    await page.getByRole("link", { name: `Details of ${person.email}` }).click();
    await expect(page.getByRole("heading", { level: 1, name: person.email })).toBeVisible();
    await check("an account");
    await page.getByRole("link", { name: "Meters and evidence" }).click();
    await expect(page.getByRole("heading", { name: "Evidence" })).toBeVisible();
    await check("evidence");
    await open(page, "Inbox");
    await page.getByRole("button", { name: "Open plan changed" }).first().click();
    await expect(page.getByRole("list", { name: "Receipts" })).toBeVisible();
    await check("an event");
    await page.keyboard.press("Escape");
    await open(page, "Reviews");
    await page
      .getByRole("button", { name: /^Decide/ })
      .first()
      .click();
    await expect(page.getByRole("dialog")).toBeVisible();
    await check("a decision");
    expect(errors).toEqual([]);
  });
}
