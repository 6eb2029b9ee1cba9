import type { Metadata } from "next";
import { LabScreen } from "./lab-screen.tsx";

export const metadata: Metadata = { title: "Concurrency Lab" };

export default function LabPage() {
  return <LabScreen />;
}
