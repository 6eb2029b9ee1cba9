import type { ManagementApi } from "./api.ts";
import type { Failure } from "./failure.ts";
import { readPages, tooLong } from "./paging.ts";
import { agreementsAnswer } from "./schemas.ts";

const PATH = "/api/v1/billing/agreements";

export interface Agreement {
  readonly id: string;
  readonly planKey: string;
  /** Not in force from this instant on; null while no end is known. Whether Kinde lists ended ones is unconfirmed. */
  readonly expiresAtMs: number | null;
}

export interface AgreementsRead {
  readonly kind: "read";
  readonly sentAtMs: number;
  readonly agreements: readonly Agreement[];
}

/** The agreements of a customer, all pages. A plan change makes a new id, so a stored one is stale after it. */
export async function readAgreements(
  api: ManagementApi,
  { customerId }: { readonly customerId: string },
): Promise<AgreementsRead | Failure> {
  const answer = await readPages(api, api.startBudget(), {
    path: PATH,
    query: { customer_id: customerId },
    schema: agreementsAnswer,
    split: (page) => ({ ids: page.agreements.map(({ id }) => id), hasMore: page.has_more, page }),
  });
  if (answer.kind === "failed") return answer;
  if (answer.value.truncated) return tooLong(PATH);
  const rows = new Map(answer.value.pages.flatMap((page) => page.agreements).map((row) => [row.id, row]));
  return { kind: "read", sentAtMs: answer.sentAtMs, agreements: [...rows.values()] };
}
