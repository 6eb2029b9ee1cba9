import type { Metadata } from "next";
import { InboxScreen } from "./inbox-screen.tsx";

export const metadata: Metadata = { title: "Inbox" };

export default function InboxPage() {
  return <InboxScreen />;
}
