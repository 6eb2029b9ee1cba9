/** The body of an attempt: the claims of its event, signed now, so that a retry after a rotation has the new key. */
import { randomBytes } from "node:crypto";
import type { Emulator } from "./context.ts";
import type { WebhookAttemptFault } from "./fault-kinds.ts";
import { signJwt, type Claims } from "./jwt.ts";
import type { EventClaims } from "./webhooks-events.ts";

const FOREIGN_ISSUER = "https://another-tenant.kinde.com";

export function signBody(
  emulator: Emulator,
  claims: EventClaims,
  faults: ReadonlySet<WebhookAttemptFault>,
): string {
  const issuer = issuerFor(emulator, faults);
  const payload: Claims = { ...claims, ...(issuer === null ? {} : { iss: issuer }) };
  const kid = faults.has("webhook_unknown_kid") ? randomKid() : emulator.keys.currentKid();
  const token = signJwt(emulator.keys, payload, kid);
  return faults.has("webhook_bad_signature") ? withOtherSignature(token) : token;
}

function issuerFor({ config, issuer }: Emulator, faults: ReadonlySet<WebhookAttemptFault>): string | null {
  if (faults.has("webhook_foreign_iss")) return FOREIGN_ISSUER;
  if (faults.has("webhook_own_iss")) return issuer;
  if (faults.has("webhook_missing_iss")) return null;
  return config.webhookIss === "tenant" ? issuer : null;
}

function randomKid(): string {
  return randomBytes(16).toString("hex").match(/../g)!.join(":");
}

/** As long as the real one, and wrong in its first byte. */
function withOtherSignature(token: string): string {
  const at = token.lastIndexOf(".") + 1;
  const signature = Buffer.from(token.slice(at), "base64url");
  signature[0] = signature[0]! ^ 0xff;
  return token.slice(0, at) + signature.toString("base64url");
}
