import type { Metadata } from "next";
import { AuditScreen } from "./audit-screen.tsx";

export const metadata: Metadata = { title: "Audit" };

export default function AuditPage() {
  return <AuditScreen />;
}
