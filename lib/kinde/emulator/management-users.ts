/** Management API: users, portal links. */
import { apiRefusal, json, type Answer } from "./answers.ts";
import { expands, readJsonBody, requiredQuery, requiredText } from "./api-input.ts";
import { requireMachine } from "./bearer.ts";
import { ORGANIZATION } from "./claims.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { readPageRequest } from "./paging.ts";
import { makePortalLink } from "./portal.ts";
import { timestampText } from "./timestamps.ts";
import { findUser, listUsers, type User } from "./users.ts";

export const managementUserRoutes: readonly Route[] = [
  { method: "GET", path: "/api/v1/user", handler: getUser },
  { method: "GET", path: "/api/v1/users", handler: getUsers },
  { method: "POST", path: "/api/v1/portal/generate_url", handler: generatePortalUrl },
];

function getUser(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "read:users");
  const user = findUser(emulator, requiredQuery(call, "id"));
  if (user === null) throw apiRefusal(404, "USER_NOT_FOUND", "There is no such user.");
  return json(200, userAnswer(user, call));
}

/** Pages go on with `next_token`; the spelling of other lists, `starting_after`, works too. */
function getUsers(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, "read:users");
  const request = readPageRequest(call.query);
  if (!request.ok) throw apiRefusal(400, "INVALID_REQUEST", request.message);
  const { size, startingAfter } = request.page;
  const afterId = call.query.get("next_token") || startingAfter;
  if (afterId !== null && findUser(emulator, afterId) === null) {
    throw apiRefusal(400, "INVALID_CURSOR", "The cursor is no user.");
  }
  const found = listUsers(emulator, { afterId, email: call.query.get("email"), limit: size + 1 });
  const users = found.slice(0, size);
  const hasMore = found.length > size;
  return json(200, {
    code: "OK",
    message: "Success",
    users: users.map((user) => userAnswer(user, call)),
    next_token: hasMore ? users.at(-1)!.id : null,
    has_more: hasMore,
  });
}

function userAnswer(user: User, call: Call): Record<string, unknown> {
  const twoDigitOffset = call.shape.has("two_digit_offset");
  return {
    id: user.id,
    provided_id: null,
    preferred_email: user.email,
    email: user.email,
    username: null,
    first_name: user.givenName,
    last_name: user.familyName,
    picture: null,
    is_suspended: false,
    created_on: timestampText(user.signedUpAtMs, { twoDigitOffset }),
    organizations: [ORGANIZATION.code],
    ...(expands(call, "billing") ? { billing: { customer_id: user.customerId } } : {}),
  };
}

function generatePortalUrl(emulator: Emulator, call: Call): Answer {
  requireMachine(emulator, call, null);
  const body = readJsonBody(call);
  const user = findUser(emulator, requiredText(body, "user_id"));
  if (user === null) throw apiRefusal(404, "USER_NOT_FOUND", "There is no such user.");
  const returnUrl = typeof body["return_url"] === "string" ? body["return_url"] : null;
  return json(200, { url: makePortalLink(emulator, user, returnUrl) });
}
