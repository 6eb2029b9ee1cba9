import type { Metadata } from "next";
import { ReconciliationScreen } from "./reconciliation-screen.tsx";

export const metadata: Metadata = { title: "Reconciliation" };

export default function ReconciliationPage() {
  return <ReconciliationScreen />;
}
