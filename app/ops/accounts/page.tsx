import type { Metadata } from "next";
import { AccountsScreen } from "./accounts-screen.tsx";

export const metadata: Metadata = { title: "Accounts" };

export default function AccountsPage() {
  return <AccountsScreen />;
}
