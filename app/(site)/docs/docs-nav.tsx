"use client";

import Link from "next/link";
import { usePathname } from "next/navigation";

const PAGES = [
  ["/docs", "Getting started"],
  ["/docs/concepts", "Concepts"],
  ["/docs/api", "API reference"],
  ["/docs/errors", "Errors"],
  ["/docs/going-live", "Going live"],
  ["/docs/how-we-know", "How we know"],
] as const;

export function DocsNav() {
  const path = usePathname();
  return (
    <nav aria-label="Documentation" className="mb-6 lg:sticky lg:top-8 lg:self-start">
      <ul className="flex flex-wrap gap-1 lg:flex-col">
        {PAGES.map(([href, name]) => (
          <li key={href}>
            <Link
              href={href}
              prefetch={false}
              aria-current={path === href ? "page" : undefined}
              className="block rounded-md px-2.5 py-1.5 text-sm text-muted hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
            >
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
