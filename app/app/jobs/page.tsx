import type { Metadata } from "next";
import { JobsScreen } from "./jobs-screen.tsx";

export const metadata: Metadata = { title: "Jobs" };

export default function JobsPage() {
  return <JobsScreen />;
}
