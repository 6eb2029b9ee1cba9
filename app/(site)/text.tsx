import type { ReactNode } from "react";

/** The running text of the site's pages. */

export function Code({ children }: { children: string }) {
  return (
    <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.9em] break-words text-ink">
      {children}
    </code>
  );
}

/** Long lines wrap, so that a narrow screen has nothing to scroll sideways; a copy has no extra line breaks. */
export function Commands({ text }: { text: string }) {
  return (
    <pre className="rounded-lg border border-line bg-sunken p-4 font-mono text-sm leading-relaxed break-words whitespace-pre-wrap">
      {text}
    </pre>
  );
}

/** A part of a page, with an anchor of its own. */
export function Part({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <section aria-labelledby={id} className="flex scroll-mt-6 flex-col gap-4">
      <h2 id={id} className="text-xl font-semibold tracking-tight">
        <a href={`#${id}`} className="hover:underline">
          {title}
        </a>
      </h2>
      {children}
    </section>
  );
}

export function Text({ children }: { children: ReactNode }) {
  return <p className="max-w-2xl leading-relaxed text-pretty">{children}</p>;
}

export function List({ children }: { children: ReactNode }) {
  return <ul className="flex max-w-2xl list-disc flex-col gap-2 pl-5 leading-relaxed">{children}</ul>;
}

/** Names and what each is, in two columns where there is room. */
export function Terms({ terms }: { terms: readonly (readonly [name: string, about: ReactNode])[] }) {
  return (
    <dl className="grid max-w-3xl gap-x-6 gap-y-3 sm:grid-cols-[minmax(0,14rem)_minmax(0,1fr)]">
      {terms.map(([name, about]) => (
        <div key={name} className="flex flex-col gap-0.5 sm:contents">
          <dt className="font-mono text-sm break-words sm:pt-0.5">{name}</dt>
          <dd className="text-muted">{about}</dd>
        </div>
      ))}
    </dl>
  );
}
