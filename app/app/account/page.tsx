import type { Metadata } from "next";
import { readSession } from "../../session.ts";
import { AccountScreen } from "./account-screen.tsx";

export const metadata: Metadata = { title: "Your data" };

export default async function AccountPage() {
  const session = await readSession();
  return <AccountScreen signInName={session?.name ?? ""} />;
}
