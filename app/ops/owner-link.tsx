import Link from "next/link";
import { linkClass } from "../components/button.tsx";

/** Whose a row is, with the way to the account; `none` where it is nobody's. */
export function OwnerLink({
  account,
  none = "no account",
}: {
  account: { readonly id: string; readonly name: string } | null;
  none?: string;
}) {
  if (account === null) return <span className="text-muted">{none}</span>;
  return (
    <Link
      href={`/ops/accounts/${account.id}`}
      prefetch={false}
      className={`${linkClass} block max-w-48 truncate`}
      title={account.name}
    >
      {account.name}
    </Link>
  );
}
