/** The permission that makes an operator. It is a claim of the access token, so it lasts until that token expires. */
export const OPERATOR_PERMISSION = "operate:holdfast";

/** Whether the `permissions` claim of a verified access token makes its holder an operator. */
export function grantsOperator(permissions: unknown): boolean {
  return Array.isArray(permissions) && permissions.includes(OPERATOR_PERMISSION);
}
