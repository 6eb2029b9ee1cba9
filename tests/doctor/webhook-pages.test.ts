import type { IncomingMessage } from "node:http";
import { afterEach, expect, test } from "vitest";
import { checkWebhook } from "../../lib/doctor/billing.ts";
import { createProbe } from "../../lib/doctor/probe.ts";
import { PAGES_MAX } from "../../lib/kinde/paging.ts";
import { answerJson, standIn, type StandIn } from "./stand-in-server.ts";

const SITE = "https://app.example.com";

let tenant: StandIn | null = null;
afterEach(async () => await tenant?.close());

const webhook = (id: string, path = "/other") => ({ id, endpoint: `${SITE}${path}`, is_disabled: false });

/** A tenant whose page after an id is what `pageAfter` says; the first is that after null. */
async function look(pageAfter: (id: string | null) => object) {
  const asked: (string | null)[] = [];
  tenant = await standIn((request: IncomingMessage, response) => {
    const after = new URL(request.url!, "http://x").searchParams.get("starting_after");
    asked.push(after);
    answerJson(response, pageAfter(after));
  });
  const api = { probe: createProbe(fetch, 5_000), issuerUrl: tenant.url, accessToken: "t" };
  return { finding: await checkWebhook(api, SITE), asked };
}

test("a webhook on the third page is found", async () => {
  const pages: Record<string, object> = {
    "": { webhooks: [webhook("a"), webhook("b")], has_more: true },
    b: { webhooks: [webhook("c")], has_more: true },
    c: { webhooks: [webhook("d", "/api/webhooks/kinde")], has_more: false },
  };
  const { finding, asked } = await look((after) => pages[after ?? ""]!);
  expect(finding).toMatchObject({ kind: "ok" });
  expect(asked).toEqual([null, "b", "c"]);
});

test.each<[string, (after: string | null) => object, number]>([
  ["a page without rows", () => ({ webhooks: [], has_more: true }), 1],
  ["the same page again", () => ({ webhooks: [webhook("a")], has_more: true }), 2],
  [
    "ever new pages",
    (after) => ({ webhooks: [webhook(`${Number(after ?? 0) + 1}`)], has_more: true }),
    PAGES_MAX,
  ],
])("a list that says there is more is not followed for ever: %s", async (_name, pageAfter, requests) => {
  const { finding, asked } = await look(pageAfter);
  expect(finding).toMatchObject({ kind: "failed", fault: "unexpected_answer" });
  expect(asked).toHaveLength(requests);
});
