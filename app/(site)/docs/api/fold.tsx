import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";

/**
 * A part that is folded until it is opened: by its head, or by a link to `id`. The anchor is inside, because a browser
 * opens what a link leads into and not what it leads to.
 */
export function Fold({ id, head, children }: { id: string; head: ReactNode; children: ReactNode }) {
  return (
    <details className="group/fold">
      <summary className="flex cursor-pointer list-none items-start gap-2 px-4 py-2.5 hover:bg-sunken [&::-webkit-details-marker]:hidden">
        <ChevronRight
          aria-hidden
          className="mt-1 size-4 shrink-0 text-muted transition-transform group-open/fold:rotate-90"
        />
        <div className="min-w-0 flex-1">{head}</div>
      </summary>
      <div id={id} className="flex scroll-mt-20 flex-col gap-4 px-4 pt-1 pb-5">
        {children}
      </div>
    </details>
  );
}
