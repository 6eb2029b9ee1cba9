import type { Metadata } from "next";
import { AccountScreen } from "./account-screen.tsx";

export const metadata: Metadata = { title: "Evidence of an account" };

export default async function EvidencePage({ params }: { params: Promise<{ accountId: string }> }) {
  const { accountId } = await params;
  return <AccountScreen accountId={accountId} />;
}
