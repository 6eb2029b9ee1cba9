import type { Metadata } from "next";
import { redirect } from "next/navigation";
import type { ReactNode } from "react";
import { Live } from "../components/live.tsx";
import { SiteHeader } from "../components/site-header.tsx";
import { readSession } from "../session.ts";
import { AccountGate } from "../components/account-gate.tsx";

export const metadata: Metadata = { title: "Your account" };

export default async function CustomerLayout({ children }: { children: ReactNode }) {
  const session = await readSession();
  if (session === null) redirect("/api/auth/login?post_login_redirect_url=/app");
  return (
    <Live convexUrl={process.env.CONVEX_URL ?? ""}>
      <SiteHeader name={session.name} email={session.email} isOperator={session.isOperator} current="app" />
      <main id="main" className="mx-auto flex max-w-5xl flex-col gap-8 px-4 py-8 sm:px-6">
        <AccountGate home="/app">{children}</AccountGate>
      </main>
    </Live>
  );
}
