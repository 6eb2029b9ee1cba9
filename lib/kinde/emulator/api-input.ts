/** What the management endpoints read from a request. All of them throw Refusal in Kinde's error form. */
import type { z } from "zod";
import { apiRefusal } from "./answers.ts";
import type { Call, Emulator } from "./context.ts";
import { pageOf, readPageRequest } from "./paging.ts";
import { findUser, findUserByCustomer, type User } from "./users.ts";

export function requiredQuery({ query }: Call, name: string): string {
  const value = query.get(name);
  if (value === null || value === "") throw apiRefusal(400, "INVALID_REQUEST", `${name} is missing`);
  return value;
}

export function customerFromQuery(emulator: Emulator, call: Call): User {
  return customerOf(emulator, requiredQuery(call, "customer_id"));
}

export function customerOf(emulator: Emulator, customerId: string): User {
  const user = findUserByCustomer(emulator, customerId);
  if (user === null) throw apiRefusal(404, "CUSTOMER_NOT_FOUND", "There is no such customer.");
  return user;
}

/** Throws Refusal 404 when there is none. */
export function existingUser(emulator: Emulator, id: string): User {
  const user = findUser(emulator, id);
  if (user === null) throw apiRefusal(404, "USER_NOT_FOUND", "There is no such user.");
  return user;
}

/** The page that the query asks for. */
export function cutPage<Item extends { readonly id: string }>(
  { query }: Call,
  items: readonly Item[],
): { items: readonly Item[]; hasMore: boolean } {
  const request = readPageRequest(query);
  if (!request.ok) throw apiRefusal(400, "INVALID_REQUEST", request.message);
  const page = pageOf(items, request.page);
  if (page.kind === "unknown_cursor")
    throw apiRefusal(400, "INVALID_CURSOR", "The cursor is no item of the list.");
  return page;
}

export function expands({ query }: Call, name: string): boolean {
  return (query.get("expand") ?? "").split(",").includes(name);
}

/** The body as a JSON object. */
export function readJsonBody({ body, headers }: Call): Record<string, unknown> {
  if (!/^application\/json\b/i.test(headers["content-type"] ?? "")) {
    throw apiRefusal(400, "INVALID_REQUEST", "The body must be application/json.");
  }
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw apiRefusal(400, "INVALID_REQUEST", "The body is not valid JSON.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw apiRefusal(400, "INVALID_REQUEST", "The body must be a JSON object.");
  }
  return value as Record<string, unknown>;
}

/** The body by a schema; the refusal names the first field that is wrong. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, call: Call): z.output<Schema> {
  const parsed = schema.safeParse(readJsonBody(call));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw apiRefusal(400, "INVALID_REQUEST", `${issue.path.join(".") || "body"}: ${issue.message}`);
}

export function requiredText(body: Record<string, unknown>, name: string): string {
  const value = body[name];
  if (typeof value !== "string" || value === "") {
    throw apiRefusal(400, "INVALID_REQUEST", `${name} is missing or not a string`);
  }
  return value;
}
