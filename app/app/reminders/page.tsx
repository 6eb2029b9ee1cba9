import type { Metadata } from "next";
import { RemindersScreen } from "./reminders-screen.tsx";

export const metadata: Metadata = { title: "Reminders" };

export default function RemindersPage() {
  return <RemindersScreen />;
}
