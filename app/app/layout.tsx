import type { Metadata } from "next";
import { redirect } from "next/navigation";
import type { ReactNode } from "react";
import { AccountGate } from "../components/account-gate.tsx";
import { AppShell } from "../components/app-shell.tsx";
import { Live } from "../components/live.tsx";
import type { NavSection } from "../components/nav-links.tsx";
import { readSession } from "../session.ts";
import { Arrivals } from "./reminders/arrivals.tsx";

export const metadata: Metadata = { title: "Your account" };

const SECTIONS: readonly NavSection[] = [
  { href: "/app", name: "Usage", icon: "gauge" },
  { href: "/app/jobs", name: "Jobs", icon: "play" },
  { href: "/app/links", name: "Links", icon: "link" },
  { href: "/app/entries", name: "Entries", icon: "receipt" },
  { href: "/app/reminders", name: "Reminders", icon: "bell" },
  { href: "/app/plan", name: "Plan", icon: "card" },
  { href: "/app/events", name: "Billing events", icon: "events" },
  { href: "/app/keys", name: "API keys", icon: "key" },
  { href: "/app/account", name: "Your data", icon: "user" },
];

export default async function CustomerLayout({ children }: { children: ReactNode }) {
  const session = await readSession();
  if (session === null) redirect("/api/auth/login?post_login_redirect_url=/app");
  const { name, email, isOperator } = session;
  return (
    <Live convexUrl={process.env.CONVEX_URL ?? ""}>
      <AppShell name={name} email={email} isOperator={isOperator} current="app" sections={SECTIONS}>
        <AccountGate home="/app">
          <Arrivals />
          {children}
        </AccountGate>
      </AppShell>
    </Live>
  );
}
