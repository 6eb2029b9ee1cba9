import { Anchor } from "lucide-react";
import Link from "next/link";
import type { ReactNode } from "react";
import { buttonClass } from "../components/button.tsx";
import { ThemeSwitch } from "../components/theme-switch.tsx";

const linkLook = "rounded-md px-2.5 py-1.5 text-sm text-muted hover:bg-sunken hover:text-ink";

/** What the pages without a sign-in stand in. Links to the areas behind it are plain: a redirect may answer them. */
export default function SiteLayout({ children }: { children: ReactNode }) {
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="border-b border-line bg-card">
        <div className="mx-auto flex max-w-6xl flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3 sm:px-8">
          <Link href="/" className="flex items-center gap-2 font-semibold tracking-tight">
            <Anchor aria-hidden className="size-5 text-accent" />
            Holdfast
          </Link>
          <nav aria-label="Site" className="flex flex-1 items-center justify-end gap-1 sm:justify-start">
            <Link href="/docs" prefetch={false} className={linkLook}>
              Docs
            </Link>
            <Link href="/docs/api" prefetch={false} className={`${linkLook} hidden sm:block`}>
              API
            </Link>
          </nav>
          <div className="flex items-center gap-1">
            <ThemeSwitch />
            <a href="/app" className={buttonClass("primary", "sm")}>
              Open the app
            </a>
          </div>
        </div>
      </header>
      <div className="flex-1">{children}</div>
      <footer className="border-t border-line">
        <div className="mx-auto flex max-w-6xl flex-wrap gap-x-6 gap-y-2 px-4 py-6 text-sm text-muted sm:px-8">
          <p className="flex-1">Holdfast, MIT licence</p>
          <Link href="/docs/going-live" prefetch={false} className="hover:text-ink">
            Going live
          </Link>
          {/* oxlint-disable-next-line nextjs/no-html-link-for-pages -- documents, not pages */}
          <a href="/api/v1/openapi.json" className="hover:text-ink">
            OpenAPI
          </a>
          <a href="/api/health" className="hover:text-ink">
            Health
          </a>
        </div>
      </footer>
    </div>
  );
}
