import type { ReactNode } from "react";

/** One titled part of a screen. */
export function Panel(props: {
  id: string;
  title: string;
  about?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section
      aria-labelledby={props.id}
      className="flex min-w-0 flex-col gap-4 rounded-xl border border-line bg-card p-4 shadow-xs sm:p-6"
    >
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="flex min-w-0 flex-col gap-1">
          <h2 id={props.id} className="text-base font-semibold">
            {props.title}
          </h2>
          {props.about !== undefined && <p className="text-sm text-pretty text-muted">{props.about}</p>}
        </div>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}

/** The head of a screen: its name, what it is for, and the main act. */
export function ScreenHead(props: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
      <div className="flex max-w-2xl flex-col gap-1">
        <h1 className="text-2xl font-semibold tracking-tight text-balance">{props.title}</h1>
        {props.children !== undefined && <p className="text-sm text-pretty text-muted">{props.children}</p>}
      </div>
      {props.action}
    </div>
  );
}

/** Numbers side by side, each with its name. */
export function Figures({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-2 gap-x-6 gap-y-4 sm:flex sm:flex-wrap sm:gap-x-12">{children}</dl>;
}

/** `note` says more about the number, below it. */
export function Figure(props: { name: string; children: ReactNode; mark?: ReactNode; note?: string }) {
  return (
    <div className="flex min-w-0 flex-col gap-0.5">
      <dt className="flex items-center gap-1.5 text-sm text-muted">
        {props.mark}
        {props.name}
      </dt>
      <dd className="text-xl font-semibold tracking-tight tabular-nums">{props.children}</dd>
      {props.note !== undefined && <dd className="text-xs text-muted tabular-nums">{props.note}</dd>}
    </div>
  );
}
