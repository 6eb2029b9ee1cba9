import type { Answer } from "./answers.ts";
import type { Feature, Plan } from "./catalogue.ts";
import { html, page, type Html } from "./html.ts";
import type { User } from "./users.ts";

export interface PlanPage {
  readonly user: User;
  readonly plans: readonly Plan[];
  readonly currentPlanKey: string | null;
  readonly action: string;
  readonly returnUrl: string;
  readonly siteOrigin: string;
}

export function planPage(view: PlanPage): Answer {
  const { user, plans, returnUrl, siteOrigin } = view;
  const main = html`<h1>Choose a plan</h1>
    <p class="note">${user.givenName} ${user.familyName}, ${user.email}</p>
    <ul>
      ${plans.map((plan) => card(view, plan))}
    </ul>
    <p class="actions"><a href="${returnUrl}">Back without a change</a></p>`;
  return page(200, { title: "Kinde emulator: choose a plan", main, formTargets: siteOrigin });
}

function card({ action, currentPlanKey }: PlanPage, plan: Plan): Html {
  const heading = `plan-${plan.key}`;
  const choice =
    plan.key === currentPlanKey
      ? html`<p><strong>Your current plan</strong></p>`
      : html`<form method="post" action="${action}">
          <button name="plan" value="${plan.key}">Choose ${plan.name}</button>
        </form>`;
  return html`<li class="card" aria-labelledby="${heading}">
    <h2 id="${heading}" style="margin-top:0">${plan.name}</h2>
    <p>${priceText(plan.monthlyPriceCents)}</p>
    <ul>
      ${plan.features.map((feature) => html`<li>${feature.name}: ${limitText(feature)}</li>`)}
    </ul>
    ${choice}
  </li>`;
}

function priceText(cents: number): string {
  return cents === 0 ? "Free" : `$${(cents / 100).toFixed(2)} a month`;
}

function limitText({ limit }: Feature): string {
  return limit === null ? "no maximum" : `${limit.toLocaleString("en")} a month`;
}
