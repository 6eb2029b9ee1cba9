import type { Metadata } from "next";
import { DetailScreen } from "./detail-screen.tsx";

export const metadata: Metadata = { title: "Account" };

export default async function AccountPage({ params }: { params: Promise<{ accountId: string }> }) {
  const { accountId } = await params;
  return <DetailScreen accountId={accountId} />;
}
