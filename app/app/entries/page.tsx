import type { Metadata } from "next";
import { EntriesScreen } from "./entries-screen.tsx";

export const metadata: Metadata = { title: "Entries" };

export default function EntriesPage() {
  return <EntriesScreen />;
}
