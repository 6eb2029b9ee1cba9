import type { ReactNode } from "react";

/** One titled part of a screen. */
export function Panel(props: { id: string; title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section
      aria-labelledby={props.id}
      className="flex flex-col gap-4 rounded-lg border border-line bg-card p-4 sm:p-6"
    >
      <div className="flex flex-wrap items-baseline justify-between gap-2">
        <h2 id={props.id} className="text-lg font-semibold">
          {props.title}
        </h2>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}

/** In the place of what is still on its way. */
export function Loading({ what }: { what: string }) {
  return (
    <p role="status" className="animate-pulse text-sm text-muted motion-reduce:animate-none">
      Loading {what}…
    </p>
  );
}

export const buttonClass =
  "cursor-pointer rounded border border-line bg-page px-3 py-1.5 text-sm font-medium text-ink hover:border-accent disabled:cursor-default disabled:opacity-60";
export const primaryButtonClass =
  "cursor-pointer rounded border border-accent bg-accent px-3 py-1.5 text-sm font-medium text-page disabled:cursor-default disabled:opacity-60";
export const inputClass = "w-full rounded border border-line bg-page px-2 py-1.5 text-sm text-ink";
