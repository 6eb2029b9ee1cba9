import type { ReactNode } from "react";

/** A name and what it is, at the two ends of a line of a narrow list. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex justify-between gap-4">
      <dt className="shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 text-right break-all tabular-nums">{children}</dd>
    </div>
  );
}
