/** Audiences and scopes that are known here. */

export const SIGN_IN_SCOPES = [
  "openid",
  "profile",
  "email",
  "offline",
  "phone",
  "address",
  "event_hooks",
] as const;

/** The API that Kinde's Convex guide registers; its name is the audience. */
const CONVEX_AUDIENCE = "convex";

/** Kinde's pages disagree on whether the version belongs to it (facts §1). */
export function managementAudiences(issuer: string): string[] {
  return [`${issuer}/api`, `${issuer}/api/v1`];
}

export function knownAudiences(issuer: string): string[] {
  return [CONVEX_AUDIENCE, ...managementAudiences(issuer)];
}

/** Scopes of the machine-to-machine application: all that its endpoints ask for (facts §1). */
export const MACHINE_SCOPES = [
  "read:users",
  "read:billing_entitlements",
  "read:billing_agreements",
  "create:billing_agreements",
  "delete:billing_agreements",
  "create:meter_usage",
  "read:meter_usage",
  "read:event_types",
  "read:events",
  "read:webhooks",
  "create:webhooks",
  "update:webhooks",
  "delete:webhooks",
] as const;

export type MachineScope = (typeof MACHINE_SCOPES)[number];

export function wordsOf(text: string | null): string[] {
  return (text ?? "").split(/\s+/).filter((word) => word !== "");
}
