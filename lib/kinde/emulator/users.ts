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
  /** Business time. The billing cycles of the customer start from here. */
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

export type CreatedUser = { kind: "created"; user: User } | { kind: "email_taken" };

/** Makes the user and their billing customer, without an agreement. */
export function createUser(emulator: Emulator, fields: z.output<typeof newUser>): CreatedUser {
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
  recordChange(emulator, "user_created", { userId: id });
  return { kind: "created", user: findUser(emulator, id)! };
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
