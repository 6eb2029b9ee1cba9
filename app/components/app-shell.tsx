import { Anchor, BookOpen } from "lucide-react";
import Link from "next/link";
import type { ReactNode } from "react";
import { buttonClass } from "./button.tsx";
import { ConnectionState } from "./connection-state.tsx";
import { NavLinks, type NavSection } from "./nav-links.tsx";
import { SignOut } from "./sign-out.tsx";
import { ThemeSwitch } from "./theme-switch.tsx";
import { Toasts } from "./toast.tsx";

/** What every screen behind the sign-in stands in: navigation at the side, or on a phone in a strip above. */
export function AppShell(props: {
  name: string;
  email: string | null;
  isOperator: boolean;
  current: "app" | "ops";
  sections: readonly NavSection[];
  children: ReactNode;
}) {
  return (
    <Toasts>
      <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
        <header className="flex flex-col border-b border-line bg-card lg:sticky lg:top-0 lg:h-dvh lg:border-r lg:border-b-0">
          <div className="flex items-center justify-between gap-3 px-4 pt-3 lg:px-5 lg:pt-5">
            {/* Plain links between the areas: each has a sign-in of its own to ask for. */}
            <a href={`/${props.current}`} className="flex items-center gap-2 font-semibold tracking-tight">
              <Anchor aria-hidden className="size-5 text-accent" />
              Holdfast
            </a>
            <div className="flex items-center gap-1 lg:hidden">
              <Areas {...props} />
              <DocsLink />
              <ThemeSwitch />
              <SignOut />
            </div>
          </div>
          <nav aria-label="Sections" className="relative mt-2 lg:mt-6 lg:flex-1 lg:overflow-y-auto">
            <NavLinks sections={props.sections} />
          </nav>
          <div className="hidden flex-col gap-3 border-t border-line p-4 lg:flex">
            <Areas {...props} />
            <div className="flex items-center gap-1">
              <p className="min-w-0 flex-1 text-sm">
                <span className="block truncate font-medium">{props.name}</span>
                {props.email !== null && props.email !== props.name && (
                  <span className="block truncate text-xs text-muted">{props.email}</span>
                )}
              </p>
              <DocsLink />
              <ThemeSwitch />
              <SignOut />
            </div>
          </div>
        </header>
        <div className="min-w-0">
          <ConnectionState />
          <main id="main" className="mx-auto flex max-w-6xl flex-col gap-6 px-4 py-6 sm:px-8 sm:py-8">
            {props.children}
          </main>
        </div>
      </div>
    </Toasts>
  );
}

function Areas({ isOperator, current }: { isOperator: boolean; current: "app" | "ops" }) {
  if (!isOperator) return null;
  const [href, text] = current === "app" ? ["/ops", "Operations"] : ["/app", "Account"];
  return (
    <a href={href} className={buttonClass("secondary", "sm")}>
      {text}
    </a>
  );
}

/** Left out where a phone is too narrow for it beside the rest. */
function DocsLink() {
  return (
    <span className="max-[22rem]:hidden">
      <Link
        href="/docs"
        prefetch={false}
        aria-label="Docs"
        title="Docs"
        className={buttonClass("ghost", "sm")}
      >
        <BookOpen aria-hidden className="size-4" />
      </Link>
    </span>
  );
}
