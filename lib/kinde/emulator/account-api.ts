/** The account API, for a signed-in user with their access token (facts §2.7). */
import { apiRefusal, json, type Answer } from "./answers.ts";
import { cutPage } from "./api-input.ts";
import { requireUser } from "./bearer.ts";
import { currentAgreement, entitlementsOf } from "./billing.ts";
import { ORGANIZATION, rolesOf } from "./claims.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { entitlementAnswer } from "./entitlement-answers.ts";
import { subscribedPlans } from "./management-billing.ts";
import { makePortalLink } from "./portal.ts";

const PREFIX = "/account_api/v1";

export const accountRoutes: readonly Route[] = [
  { method: "GET", path: `${PREFIX}/entitlements`, handler: getEntitlements },
  { method: "GET", path: `${PREFIX}/entitlement/{key}`, handler: getEntitlement },
  { method: "GET", path: `${PREFIX}/permissions`, handler: getPermissions },
  { method: "GET", path: `${PREFIX}/permission/{key}`, handler: getPermission },
  { method: "GET", path: `${PREFIX}/roles`, handler: getRoles },
  { method: "GET", path: `${PREFIX}/feature_flags`, handler: getFeatureFlags },
  { method: "GET", path: `${PREFIX}/portal_link`, handler: getPortalLink },
];

const ORG = { org_code: ORGANIZATION.code };

function list(data: Record<string, unknown>): Answer {
  return json(200, {
    data: { ...ORG, ...data },
    metadata: { has_more: false, next_page_starting_after: null },
  });
}

function getEntitlements(emulator: Emulator, call: Call): Answer {
  const { user } = requireUser(emulator, call);
  const agreement = currentAgreement(emulator, user.customerId);
  const entitlements = call.shape.has("empty_entitlements") ? [] : entitlementsOf(emulator, agreement);
  const page = cutPage(call, entitlements);
  return json(200, {
    data: {
      ...ORG,
      plans: subscribedPlans(emulator, agreement, "key", call),
      entitlements: page.items.map((item) => entitlementAnswer(item, "feature_key", call.shape)),
    },
    metadata: {
      has_more: page.hasMore,
      next_page_starting_after: page.hasMore ? page.items.at(-1)!.id : null,
    },
  });
}

function getEntitlement(emulator: Emulator, call: Call): Answer {
  const { user } = requireUser(emulator, call);
  const entitlements = entitlementsOf(emulator, currentAgreement(emulator, user.customerId));
  const found = entitlements.find(({ feature }) => feature.key === call.params["key"]);
  if (found === undefined) throw apiRefusal(404, "ENTITLEMENT_NOT_FOUND", "There is no such entitlement.");
  return json(200, {
    data: { ...ORG, entitlement: entitlementAnswer(found, "feature_key", call.shape) },
    metadata: {},
  });
}

function getPermissions(emulator: Emulator, call: Call): Answer {
  const { user } = requireUser(emulator, call);
  return list({
    permissions: user.permissions.map((key) => ({
      id: `permission_${key}`,
      name: key,
      description: null,
      key,
    })),
  });
}

/** The SDK returns this body as it is, so it carries the SDK's own names. */
function getPermission(emulator: Emulator, call: Call): Answer {
  const { user } = requireUser(emulator, call);
  const permissionKey = call.params["key"]!;
  const isGranted = user.permissions.includes(permissionKey);
  return json(200, { permissionKey, orgCode: ORGANIZATION.code, isGranted });
}

function getRoles(emulator: Emulator, call: Call): Answer {
  return list({ roles: rolesOf(requireUser(emulator, call).user) });
}

function getFeatureFlags(emulator: Emulator, call: Call): Answer {
  requireUser(emulator, call);
  return list({ feature_flags: [] });
}

/** `subnav` and `sub_nav` are both in use and both let through: there is one page. */
function getPortalLink(emulator: Emulator, call: Call): Answer {
  const { user } = requireUser(emulator, call);
  return json(200, { url: makePortalLink(emulator, user, call.query.get("return_url")) });
}
