import type { Metadata } from "next";
import { SettingsScreen } from "./settings-screen.tsx";

export const metadata: Metadata = { title: "Settings" };

export default function SettingsPage() {
  return <SettingsScreen />;
}
