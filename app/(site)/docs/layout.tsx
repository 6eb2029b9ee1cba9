import type { ReactNode } from "react";
import { DocsNav } from "./docs-nav.tsx";

export default function DocsLayout({ children }: { children: ReactNode }) {
  return (
    <div className="mx-auto grid max-w-6xl gap-x-12 px-4 py-8 sm:px-8 lg:grid-cols-[12rem_minmax(0,1fr)] lg:py-12">
      <DocsNav />
      <main id="main" className="flex min-w-0 flex-col gap-10">
        {children}
      </main>
    </div>
  );
}
