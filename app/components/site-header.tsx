import { ConnectionState } from "./connection-state.tsx";
import { SignOut } from "./sign-out.tsx";

/** The bar above every screen behind the sign-in. */
export function SiteHeader(props: {
  name: string;
  email: string | null;
  isOperator: boolean;
  current: "app" | "ops";
}) {
  const link = (isCurrent: boolean) =>
    `rounded px-2 py-1 text-sm ${isCurrent ? "bg-page font-medium text-ink" : "text-muted hover:text-ink"}`;
  return (
    <header className="border-b border-line bg-card">
      <div className="mx-auto flex max-w-5xl flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3 sm:px-6">
        <p className="font-mono text-sm text-accent">Holdfast</p>
        <nav aria-label="Screens" className="flex gap-1">
          {/* Plain links: a client-side navigation cannot follow the redirect of a sign-in that has ended. */}
          <a
            href="/app"
            aria-current={props.current === "app" ? "page" : undefined}
            className={link(props.current === "app")}
          >
            Account
          </a>
          {props.isOperator && (
            <a
              href="/ops"
              aria-current={props.current === "ops" ? "page" : undefined}
              className={link(props.current === "ops")}
            >
              Operations
            </a>
          )}
        </nav>
        <ConnectionState />
        <p className="ml-auto max-w-full truncate text-sm text-muted" title={props.email ?? undefined}>
          {props.name}
        </p>
        <SignOut />
      </div>
    </header>
  );
}
