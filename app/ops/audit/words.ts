/** What was done, by the name it has in the rows. */
export const ACTIONS: Readonly<Record<string, string>> = {
  account_created: "Account made",
  accounts_merged: "Accounts merged",
  api_key_created: "API key made",
  api_key_revoked: "API key revoked",
  api_key_rotated: "API key rotated",
  budget_repaired: "Budget repaired",
  counter_rebuilt: "Counter rebuilt",
  cycle_anchor_set: "Cycle start set",
  drift_checked: "Plan compared with the provider on demand",
  event_replayed: "Event replayed",
  limit_removed: "Limit removed",
  limit_set: "Limit set",
  meters_reconciled: "Meters read on demand",
  overdue_block_set: "Block of overdue customers set",
  plan_repaired: "Plan repaired",
  rate_set: "Job rate set",
  review_decided: "Review decided",
  totals_reported: "Totals sent on demand",
};

export function actionName(action: string): string {
  return ACTIONS[action] ?? action.replaceAll("_", " ");
}

type Value = string | number | boolean | null;

/** "usedBefore: 10, usedAfter: 12", with the names as words. */
export function detailsText(details: Readonly<Record<string, Value>>): string {
  return Object.entries(details)
    .map(([name, value]) => `${name.replaceAll(/([A-Z])/g, " $1").toLowerCase()}: ${valueText(value)}`)
    .join(", ");
}

function valueText(value: Value): string {
  if (value === null) return "none";
  return typeof value === "number" ? value.toLocaleString("en-US") : String(value);
}
