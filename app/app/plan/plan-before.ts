/** The plan that a customer had on the way to the plan page: kept in a cookie until the way back, then in the address. */
export const PLAN_BEFORE_COOKIE = "holdfast-plan-before";
export const PLAN_BEFORE_PARAM = "plan-before";
export const PLAN_PATH = "/app/plan";

/** Longer than anybody takes to choose; what is left over does not outlive the day. */
const LIFE_SECONDS = 3_600;

/** `siteUrl`: a cookie of a site on https is not sent without it. The way back comes from another site, so it is lax. */
export function planBeforeOptions(siteUrl: string) {
  const secure = siteUrl.startsWith("https:");
  return { path: PLAN_PATH, maxAge: LIFE_SECONDS, httpOnly: true, sameSite: "lax", secure } as const;
}
