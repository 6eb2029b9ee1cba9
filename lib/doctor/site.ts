import { z } from "zod";
import { type Answered, hostOf, type Probe, unreachable } from "./probe.ts";
import { failed, type Finding, ok } from "./report.ts";

const health = z.object({
  status: z.enum(["ok", "degraded", "down"]),
  parts: z.object({ convex: z.object({ reason: z.string().optional() }) }),
});

/** Whether the site answers under the very address that sign-in and webhooks use. */
export async function checkSite(probe: Probe, siteUrl: string): Promise<Finding> {
  const url = `${siteUrl}/api/health`;
  const answer = await probe({ url });
  return answer.kind === "no_answer" ? unreachable("the site", url, answer) : judgeSite(siteUrl, answer);
}

export function judgeSite(siteUrl: string, { status, location, json }: Answered): Finding {
  if (status >= 300 && status < 400) {
    const target = location === null ? "elsewhere" : `to ${hostOf(new URL(location, siteUrl).href)}`;
    return failed(
      "redirected",
      `${siteUrl} redirects ${target}; sign-in and webhooks do not follow`,
      "set KINDE_SITE_URL to the address at the end of the redirect, and the callback URL and the webhook at Kinde with it",
    );
  }
  const parsed = health.safeParse(json);
  if (!parsed.success) {
    const detail = `${siteUrl}/api/health answered ${status}, and not as Holdfast does`;
    return failed(
      "unexpected_answer",
      detail,
      "KINDE_SITE_URL has to lead to this server, at the root of its host",
    );
  }
  const { status: state, parts } = parsed.data;
  if (state === "down") {
    const detail = `the site runs, but its database does not serve it: ${parts.convex.reason ?? "no answer"}`;
    return failed("site_down", detail, "mend the lines above first, then restart the web server");
  }
  return ok(state === "ok" ? `${siteUrl} runs` : `${siteUrl} runs; a background part is late`);
}
