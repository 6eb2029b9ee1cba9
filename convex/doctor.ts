import { v } from "convex/values";

import { serverQuery } from "./functions";

/** For `npm run doctor`: what this deployment was told, without a secret among it. */

/** Each has to be set on a deployment that serves a tenant. */
const NEEDED = [
  "HOLDFAST_OPERATOR_KEY_HASH",
  "KINDE_ISSUER_URL",
  "KINDE_M2M_CLIENT_ID",
  "KINDE_M2M_CLIENT_SECRET",
] as const;

export const settings = serverQuery({
  args: {},
  returns: v.object({
    issuerUrl: v.union(v.string(), v.null()),
    siteUrl: v.union(v.string(), v.null()),
    missing: v.array(v.string()),
  }),
  handler: async () => {
    const env = process.env;
    const missing: string[] = NEEDED.filter((name) => (env[name] ?? "") === "");
    // Short links need an address of their own, or that of the site.
    const siteUrl = env.KINDE_SITE_URL ?? env.HOLDFAST_SHORT_URL ?? "";
    if (siteUrl === "") missing.push("KINDE_SITE_URL");
    return { issuerUrl: env.KINDE_ISSUER_URL ?? null, siteUrl: siteUrl === "" ? null : siteUrl, missing };
  },
});
