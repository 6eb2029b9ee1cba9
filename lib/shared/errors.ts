/**
 * Codes of a broken contract: the caller was wrong, not unlucky. Expected outcomes are returned as unions on `kind`
 * and never use these. `server_refused`: our own server shows a wrong secret, which no caller of it can mend.
 * `no_account`: a valid sign-in whose account is not made yet. `convex/` turns them into a `ConvexError` whose data is
 * this shape.
 */
export type ContractCode = "server_refused" | "unauthorized" | "no_account" | "forbidden" | "invalid";

/** The data of a thrown contract error. The caller matches on the code, never on the message. */
export interface ContractError {
  readonly code: ContractCode;
  readonly message: string;
}

export function contractError(code: ContractCode, message: string): ContractError & Record<string, string> {
  return { code, message };
}
