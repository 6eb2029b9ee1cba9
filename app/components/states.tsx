import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

/** In the place of a list that has nothing yet: what would be here, and how to get the first one. */
export function Empty(props: { icon: LucideIcon; title: string; children?: ReactNode; action?: ReactNode }) {
  const { icon: Icon } = props;
  return (
    <div className="flex flex-col items-center gap-3 rounded-lg border border-dashed border-line px-6 py-10 text-center">
      <span className="rounded-full bg-sunken p-3">
        <Icon aria-hidden className="size-5 text-muted" />
      </span>
      <p className="font-medium">{props.title}</p>
      {props.children !== undefined && <div className="max-w-md text-sm text-muted">{props.children}</div>}
      {props.action}
    </div>
  );
}

/** Told to those who cannot see that something is on its way. */
export function LoadingNote({ what }: { what: string }) {
  return (
    <span role="status" className="sr-only">
      Loading {what}…
    </span>
  );
}

/** In the place of one value in a line of text. */
export function Placeholder() {
  return <span aria-hidden className="inline-block h-4 w-32 animate-pulse rounded bg-sunken align-middle" />;
}

/** In the place of what is still on its way. It takes about as much room as what comes, so that nothing jumps. */
export function Loading({ what, rows = 3 }: { what: string; rows?: number }) {
  return (
    <div role="status" className="flex flex-col gap-3">
      <span className="sr-only">Loading {what}…</span>
      {Array.from({ length: rows }, (_, row) => (
        <span
          key={row}
          aria-hidden
          className={`h-8 animate-pulse rounded-md bg-sunken ${row % 3 === 2 ? "w-2/3" : ""}`}
        />
      ))}
    </div>
  );
}
