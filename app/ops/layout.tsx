import type { Metadata } from "next";
import { notFound, redirect } from "next/navigation";
import type { ReactNode } from "react";
import { AccountGate } from "../components/account-gate.tsx";
import { Live } from "../components/live.tsx";
import { SiteHeader } from "../components/site-header.tsx";
import { readSession } from "../session.ts";

export const metadata: Metadata = { title: "Operations" };

/** proxy.ts has answered 403 to others already; a page that is reached past it must not be open either. */
export default async function OperatorLayout({ children }: { children: ReactNode }) {
  const session = await readSession();
  if (session === null) redirect("/api/auth/login?post_login_redirect_url=/ops");
  if (!session.isOperator) notFound();
  return (
    <Live convexUrl={process.env.CONVEX_URL ?? ""}>
      <SiteHeader name={session.name} email={session.email} isOperator current="ops" />
      <main id="main" className="mx-auto flex max-w-5xl flex-col gap-8 px-4 py-8 sm:px-6">
        <AccountGate home="/ops">{children}</AccountGate>
      </main>
    </Live>
  );
}
