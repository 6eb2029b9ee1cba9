import { z } from "zod";
import { type Answered, hostOf, type Probe, unreachable } from "./probe.ts";
import { failed, type Finding, ok } from "./report.ts";

const configuration = z.object({ issuer: z.string(), jwks_uri: z.string().optional() });
const keySet = z.object({
  keys: z.array(
    z.object({
      kty: z.string(),
      kid: z.string().optional(),
      n: z.string().optional(),
      e: z.string().optional(),
    }),
  ),
});

const ISSUER_NEXT =
  "KINDE_ISSUER_URL is the domain of the tenant, such as https://example.kinde.com, and nothing after it";

/** Whether the issuer is a provider of sign-ins that calls itself by the name we know it by. */
export async function checkIssuer(probe: Probe, issuerUrl: string): Promise<Finding> {
  const url = `${issuerUrl}/.well-known/openid-configuration`;
  const answer = await probe({ url });
  return answer.kind === "no_answer"
    ? unreachable("the issuer", url, answer)
    : judgeIssuer(issuerUrl, answer);
}

export function judgeIssuer(issuerUrl: string, { status, location, json }: Answered): Finding {
  if (status >= 300 && status < 400) {
    const detail = `${issuerUrl} answers with a redirect${location === null ? "" : ` to ${hostOf(location)}`}`;
    return failed(
      "redirected",
      detail,
      "use the address that it leads to as KINDE_ISSUER_URL, without a slash at the end",
    );
  }
  const parsed = configuration.safeParse(json);
  if (status !== 200 || !parsed.success) {
    const detail = `${issuerUrl} is no Kinde tenant: /.well-known/openid-configuration answered ${status}${status === 200 ? " with something else" : ""}`;
    return failed("not_an_issuer", detail, ISSUER_NEXT);
  }
  const { issuer } = parsed.data;
  if (issuer !== issuerUrl) {
    const detail = `the tenant at ${issuerUrl} calls itself ${hostOf(issuer)}${issuer.endsWith("/") ? " with a slash" : ""}; its tokens say so too`;
    return failed(
      "wrong_issuer",
      detail,
      `set KINDE_ISSUER_URL to ${issuer}, here and on the Convex deployment`,
    );
  }
  return ok(issuerUrl);
}

/** Whether there are keys where the sign-in library looks for them. */
export async function checkKeys(probe: Probe, issuerUrl: string): Promise<Finding> {
  const url = `${issuerUrl}/.well-known/jwks.json`;
  const answer = await probe({ url });
  return answer.kind === "no_answer" ? unreachable("the key set of", url, answer) : judgeKeys(answer);
}

export function judgeKeys({ status, json }: Answered): Finding {
  const parsed = keySet.safeParse(json);
  if (status !== 200 || !parsed.success) {
    return failed("no_keys", `/.well-known/jwks.json answered ${status} without a key set`, ISSUER_NEXT);
  }
  const usable = parsed.data.keys.filter(({ kty, kid, n, e }) => kty === "RSA" && kid && n && e);
  if (usable.length === 0) {
    const detail = `the key set has no RSA key with a name (${parsed.data.keys.length} keys in all)`;
    return failed(
      "no_keys",
      detail,
      "without one no token can be checked: ask Kinde, or look for a proxy that changes answers",
    );
  }
  return ok(`${usable.length} RSA ${usable.length === 1 ? "key" : "keys"}`);
}
