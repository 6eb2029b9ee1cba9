import type { Metadata } from "next";
import { PlanScreen } from "./plan-screen.tsx";

export const metadata: Metadata = { title: "Plan" };

export default function PlanPage() {
  return <PlanScreen />;
}
