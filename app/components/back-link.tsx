import { ArrowLeft } from "lucide-react";
import Link from "next/link";

/** Above the head of a detail: the way back to the list that it is one of. */
export function BackLink({ href, children }: { href: string; children: string }) {
  return (
    <Link
      href={href}
      prefetch={false}
      className="flex w-fit items-center gap-1.5 text-sm text-muted hover:text-ink"
    >
      <ArrowLeft aria-hidden className="size-4" />
      {children}
    </Link>
  );
}
