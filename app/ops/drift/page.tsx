import type { Metadata } from "next";
import { DriftScreen } from "./drift-screen.tsx";

export const metadata: Metadata = { title: "Plan drift" };

export default function DriftPage() {
  return <DriftScreen />;
}
