import { z } from "zod";
import { recordChange } from "./changes.ts";
import type { Emulator } from "./context.ts";
import { timedId } from "./ids.ts";

/** What makes a user an operator of Holdfast. */
export const OPERATOR_PERMISSION = "operate:holdfast";

/** The newest test users that the sign-in page offers. */
const OFFERED_MAX = 50;

export interface User {
  readonly id: string;
  readonly email: string;
  readonly givenName: string;
  readonly familyName: string;
  readonly permissions: readonly string[];
  readonly customerId: string;
  /** Business time. Their billing cycles start with the first plan, which may come later. */
  readonly signedUpAtMs: number;
}

const name = z.string().trim().min(1, "is missing").max(100, "has more than 100 characters");

export const newUser = z.object({
  givenName: name,
  familyName: name,
  email: z.string().trim().max(254, "has more than 254 characters").pipe(z.email("is not an email address")),
  operator: z.boolean().default(false),
});

interface Row {
  id: string;
  email: string;
  given_name: string;
  family_name: string;
  permissions: string;
  customer_id: string;
  signed_up_at_ms: number;
}

const SELECT =
  "SELECT id, email, given_name, family_name, permissions, customer_id, signed_up_at_ms FROM users";

export type SavedUser = { kind: "saved"; user: User } | { kind: "email_taken" };

/** Makes the user and their billing customer, without an agreement. */
export function createUser(emulator: Emulator, fields: z.output<typeof newUser>): SavedUser {
  const { storage } = emulator;
  if (storage.get("SELECT 1 FROM users WHERE email = ?", fields.email) !== null)
    return { kind: "email_taken" };
  const nowMs = emulator.nowMs();
  const id = timedId("kp", nowMs);
  storage.run(
    `INSERT INTO users (id, email, given_name, family_name, permissions, customer_id, signed_up_at_ms, seq)
     VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM users))`,
    id,
    fields.email,
    fields.givenName,
    fields.familyName,
    JSON.stringify(fields.operator ? [OPERATOR_PERMISSION] : []),
    timedId("customer", nowMs),
    nowMs,
  );
  recordChange(emulator, { kind: "user_created", userId: id });
  return { kind: "saved", user: findUser(emulator, id)! };
}

export const changedUser = newUser
  .pick({ givenName: true, familyName: true, email: true })
  .partial()
  .strict();

/** What is not given stays. */
export function changeUser(emulator: Emulator, user: User, fields: z.output<typeof changedUser>): SavedUser {
  const { storage } = emulator;
  const { email, givenName, familyName } = { ...user, ...fields };
  if (storage.get("SELECT 1 FROM users WHERE email = ? AND id <> ?", email, user.id) !== null)
    return { kind: "email_taken" };
  storage.run(
    "UPDATE users SET email = ?, given_name = ?, family_name = ? WHERE id = ?",
    email,
    givenName,
    familyName,
    user.id,
  );
  recordChange(emulator, { kind: "user_updated", userId: user.id });
  return { kind: "saved", user: findUser(emulator, user.id)! };
}

/** Takes all that is theirs along: agreements, meters, sessions. Tokens that are out stop to work. */
export function deleteUser(emulator: Emulator, { id, customerId }: User): void {
  const { storage } = emulator;
  recordChange(emulator, { kind: "user_deleted", userId: id });
  storage.run("DELETE FROM codes WHERE json_extract(grant_json, '$.userId') = ?", id);
  storage.run(
    `DELETE FROM refresh_tokens WHERE session_id IN
       (SELECT id FROM sessions WHERE json_extract(grant_json, '$.userId') = ?)`,
    id,
  );
  storage.run("DELETE FROM sessions WHERE json_extract(grant_json, '$.userId') = ?", id);
  storage.run("DELETE FROM portal_links WHERE user_id = ?", id);
  storage.run(
    "DELETE FROM meter_records WHERE agreement_id IN (SELECT id FROM agreements WHERE customer_id = ?)",
    customerId,
  );
  storage.run("DELETE FROM agreements WHERE customer_id = ?", customerId);
  storage.run("DELETE FROM users WHERE id = ?", id);
}

export function findUser({ storage }: Emulator, id: string): User | null {
  return toUser(storage.get<Row>(`${SELECT} WHERE id = ?`, id));
}

export function findUserByCustomer({ storage }: Emulator, customerId: string): User | null {
  return toUser(storage.get<Row>(`${SELECT} WHERE customer_id = ?`, customerId));
}

/** The users that the sign-in page offers, newest first. */
export function offeredUsers({ storage }: Emulator): User[] {
  return storage.all<Row>(`${SELECT} ORDER BY seq DESC LIMIT ?`, OFFERED_MAX).map((row) => toUser(row)!);
}

/** Up to `limit` users in the order they were made, after the one named; an `email` narrows to that user. */
export function listUsers(
  { storage }: Emulator,
  page: { readonly afterId: string | null; readonly email: string | null; readonly limit: number },
): User[] {
  return storage
    .all<Row>(
      `${SELECT} WHERE seq > coalesce((SELECT seq FROM users WHERE id = ?), 0) AND (? IS NULL OR email = ?)
       ORDER BY seq LIMIT ?`,
      page.afterId,
      page.email,
      page.email,
      page.limit,
    )
    .map((row) => toUser(row)!);
}

function toUser(row: Row | null): User | null {
  if (row === null) return null;
  return {
    id: row.id,
    email: row.email,
    givenName: row.given_name,
    familyName: row.family_name,
    permissions: JSON.parse(row.permissions) as string[],
    customerId: row.customer_id,
    signedUpAtMs: row.signed_up_at_ms,
  };
}
