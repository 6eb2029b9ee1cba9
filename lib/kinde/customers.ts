import type { ManagementApi } from "./api.ts";
import { failure, type Failure } from "./failure.ts";
import { userAnswer } from "./schemas.ts";

const PATH = "/api/v1/user";

export type CustomerLookup =
  | {
      readonly kind: "found";
      /** Null while the user has no billing customer. */
      readonly customerId: string | null;
      readonly email: string | null;
    }
  | { readonly kind: "not_found" };

/** The billing customer of a user. */
export async function findCustomer(
  api: ManagementApi,
  { userId }: { readonly userId: string },
): Promise<CustomerLookup | Failure> {
  const answer = await api.read(PATH, { id: userId, expand: "billing" }, userAnswer, api.startBudget());
  if (answer.kind === "failed") return isNotFound(answer) ? { kind: "not_found" } : answer;
  const { id, billing, preferred_email, email } = answer.value;
  if (id !== userId) {
    return failure({ code: "bad_answer", status: 200, message: `GET ${PATH}: it is about another user` });
  }
  return {
    kind: "found",
    customerId: textOrNull(billing?.customer_id),
    email: textOrNull(preferred_email ?? email),
  };
}

/**
 * Whether Kinde says that it does not have whom was asked about. It documents no error for that, so a 404 and a code that
 * says so both count. A 404 without a code of Kinde's, or about the route, comes from a wrong address, and to take it for
 * a missing user would lose a customer.
 */
export function isNotFound({ code, errorCode }: Failure): boolean {
  if (errorCode === null || /route/i.test(errorCode)) return false;
  return code === "not_found" || (code === "rejected" && /(^|_)not_found$/i.test(errorCode));
}

function textOrNull(text: string | null | undefined): string | null {
  return text === undefined || text === null || text === "" ? null : text;
}
