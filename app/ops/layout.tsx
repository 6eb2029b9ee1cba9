import type { Metadata } from "next";
import { notFound, redirect } from "next/navigation";
import type { ReactNode } from "react";
import { AppShell } from "../components/app-shell.tsx";
import { AccountGate } from "../components/account-gate.tsx";
import { Live } from "../components/live.tsx";
import type { NavSection } from "../components/nav-links.tsx";
import { readSession } from "../session.ts";

export const metadata: Metadata = { title: "Operations" };

const SECTIONS: readonly NavSection[] = [
  { href: "/ops", name: "Overview", icon: "activity" },
  { href: "/ops/lab", name: "Concurrency Lab", icon: "lab" },
  { href: "/ops/engine-room", name: "Engine Room", icon: "shuffle" },
  { href: "/ops/reconciliation", name: "Reconciliation", icon: "scale" },
  { href: "/ops/reviews", name: "Reviews", icon: "review" },
  { href: "/ops/inbox", name: "Inbox", icon: "inbox" },
  { href: "/ops/drift", name: "Plan drift", icon: "events" },
  { href: "/ops/accounts", name: "Accounts", icon: "users" },
  { href: "/ops/audit", name: "Audit", icon: "log" },
  { href: "/ops/faults", name: "Faults", icon: "faults" },
  { href: "/ops/settings", name: "Settings", icon: "settings" },
];

/** proxy.ts has answered 403 to others already; a page that is reached past it must not be open either. */
export default async function OperatorLayout({ children }: { children: ReactNode }) {
  const session = await readSession();
  if (session === null) redirect("/api/auth/login?post_login_redirect_url=/ops");
  if (!session.isOperator) notFound();
  return (
    <Live convexUrl={process.env.CONVEX_URL ?? ""}>
      <AppShell name={session.name} email={session.email} isOperator current="ops" sections={SECTIONS}>
        <AccountGate home="/ops">{children}</AccountGate>
      </AppShell>
    </Live>
  );
}
