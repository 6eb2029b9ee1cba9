import { expect, test } from "vitest";
import { PLANS } from "../../app/app/plan/plans.ts";
import { DEFAULT_ALLOWANCES } from "../../lib/inbox/allowance.ts";
import { DEFAULT_CATALOGUE_FILE, readCatalogue } from "../../lib/kinde/emulator/catalogue.ts";

test("the plan cards say what the stand-in for the provider sells", () => {
  const sold = readCatalogue(DEFAULT_CATALOGUE_FILE).plans.map(
    ({ key, name, monthlyPriceCents, features }) => {
      const feature = (wanted: string) => features.find((one) => one.key === wanted);
      const tokensUnits = feature("tokens")?.limit;
      const clickPriceCents = feature("clicks")?.unitAmountCents;
      return { key, name, monthlyPriceCents, tokensUnits, clickPriceCents };
    },
  );
  expect(PLANS).toMatchObject(sold);
});

test("each offered plan has an allowance of reminders", () => {
  expect(Object.keys(DEFAULT_ALLOWANCES.unitsByPlan)).toEqual(PLANS.map(({ key }) => key));
});
