import type { ReactNode } from "react";

export function DocsHead({ title, children }: { title: string; children: ReactNode }) {
  return (
    <header className="flex flex-col gap-3">
      <h1 className="text-3xl font-semibold tracking-tight text-balance">{title}</h1>
      <p className="max-w-2xl text-lg text-pretty text-muted">{children}</p>
    </header>
  );
}
