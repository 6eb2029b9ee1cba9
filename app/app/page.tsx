import type { Metadata } from "next";
import { UsageScreen } from "./usage-screen.tsx";

export const metadata: Metadata = { title: "Usage" };

export default function UsagePage() {
  return <UsageScreen />;
}
