import { expect, open, signUp, test } from "./stack.ts";

const SECRET = /^hf_live_[\w-]{43}$/;

test("an API key is shown once, works over HTTP, can be rotated, and stops when it is revoked", async ({
  page,
  stack,
}) => {
  await signUp(page, stack);
  await open(page, "API keys");
  await page.getByRole("button", { name: "New key" }).first().click();
  await page.getByLabel("Name").fill("browser test");
  await page.getByRole("button", { name: "Make the key" }).click();
  const shown = page.locator("code", { hasText: SECRET });
  const first = await shown.innerText();
  const usage = async (secret: string) => {
    const answer = await fetch(`${stack.url}/api/v1/usage`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    return answer.status;
  };
  expect(await usage(first)).toBe(200);
  await page.getByRole("button", { name: "I have it" }).click();
  await expect(shown).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("table", { name: "API keys" })).toContainText("browser test");
  await expect(page.getByText(first)).toHaveCount(0);

  await page.getByRole("button", { name: "Rotate browser test" }).click();
  await page.getByRole("button", { name: "Rotate now" }).click();
  const second = await shown.innerText();
  expect(second).not.toBe(first);
  await page.getByRole("button", { name: "I have it" }).click();
  expect(await usage(first)).toBe(401);
  expect(await usage(second)).toBe(200);

  await page.getByRole("button", { name: "Revoke browser test" }).click();
  await page.getByRole("button", { name: "Revoke for good" }).click();
  await expect(page.getByText("No key fits")).toBeVisible();
  await page.getByLabel("Also revoked ones").check();
  await expect(page.getByRole("table", { name: "API keys" })).toContainText("revoked");
  expect(await usage(second)).toBe(401);
});
