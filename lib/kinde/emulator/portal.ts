/**
 * The hosted page where a customer chooses a plan; it stands in for Kinde's portal. A link holds a secret, lives for
 * 15 minutes and is used up by the choice, so that the page can be reloaded before.
 */
import { MINUTE_MS } from "../../shared/durations.ts";
import { must } from "../../shared/assert.ts";
import { apiRefusal, redirect, type Answer } from "./answers.ts";
import { isAllowedRedirect } from "./auth-request.ts";
import { refuseForeignForm } from "./authorize.ts";
import { currentAgreement, startAgreement } from "./billing.ts";
import { findPlan } from "./catalogue.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { pageRefusal } from "./html.ts";
import { hashOf, secretId } from "./ids.ts";
import { planPage } from "./plan-page.ts";
import { findUser, type User } from "./users.ts";

const LINK_LIFE_MS = 15 * MINUTE_MS;

export const portalRoutes: readonly Route[] = [
  { method: "GET", path: "/plan", handler: showPlans },
  { method: "POST", path: "/plan", handler: choosePlan },
];

/** Throws Refusal 400 when the way back does not lead to the site. */
export function makePortalLink(emulator: Emulator, user: User, returnUrl: string | null): string {
  const { storage, config, issuer } = emulator;
  const target = returnUrl === null || returnUrl === "" ? config.siteOrigin : returnUrl;
  if (!isAllowedRedirect(target, config.siteOrigin)) {
    throw apiRefusal(400, "INVALID_RETURN_URL", `return_url must lead to ${config.siteOrigin}`);
  }
  const token = secretId("link");
  const nowMs = emulator.wallNowMs();
  storage.run("DELETE FROM portal_links WHERE expires_at_ms <= ?", nowMs);
  storage.run(
    "INSERT INTO portal_links (hash, user_id, return_url, expires_at_ms) VALUES (?, ?, ?, ?)",
    hashOf(token),
    user.id,
    target,
    nowMs + LINK_LIFE_MS,
  );
  return `${issuer}/plan?${new URLSearchParams({ token, return_url: target })}`;
}

interface Visit {
  readonly token: string;
  readonly user: User;
  readonly returnUrl: string;
}

function showPlans(emulator: Emulator, call: Call): Answer {
  const { token, user, returnUrl } = openLink(emulator, call);
  return planPage({
    user,
    plans: emulator.catalogue.plans,
    currentPlanKey: currentAgreement(emulator, user.customerId)?.planKey ?? null,
    action: `/plan?${new URLSearchParams({ token, return_url: returnUrl })}`,
    returnUrl,
    siteOrigin: emulator.config.siteOrigin,
  });
}

function choosePlan(emulator: Emulator, call: Call): Answer {
  const { token, user, returnUrl } = openLink(emulator, call);
  refuseForeignForm(emulator, call);
  const plan = findPlan(emulator.catalogue, new URLSearchParams(call.body).get("plan") ?? "");
  if (plan === null) throw pageRefusal(400, "No such plan", "The plan is not in the catalogue.");
  emulator.storage.run("DELETE FROM portal_links WHERE hash = ?", hashOf(token));
  if (currentAgreement(emulator, user.customerId)?.planKey !== plan.key) {
    startAgreement(emulator, user.customerId, plan.key);
  }
  return redirect(new URL(returnUrl).href);
}

/** The `return_url` of the address counts when it leads to the site, else the one that the link was made with. */
function openLink(emulator: Emulator, { query }: Call): Visit {
  const token = query.get("token") ?? "";
  const row = emulator.storage.get<{ user_id: string; return_url: string }>(
    "SELECT user_id, return_url FROM portal_links WHERE hash = ? AND expires_at_ms > ?",
    hashOf(token),
    emulator.wallNowMs(),
  );
  if (row === null) {
    throw pageRefusal(410, "This link has been used", "Go back to the app and open the plan page again.");
  }
  const asked = query.get("return_url") ?? "";
  const { siteOrigin } = emulator.config;
  return {
    token,
    user: must(findUser(emulator, row.user_id), `no user ${row.user_id}`),
    returnUrl: isAllowedRedirect(asked, siteOrigin) ? asked : row.return_url,
  };
}
