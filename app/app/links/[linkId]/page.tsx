import type { Metadata } from "next";
import { LinkScreen } from "./link-screen.tsx";

export const metadata: Metadata = { title: "Link" };

export default async function LinkPage({ params }: { params: Promise<{ linkId: string }> }) {
  return <LinkScreen linkId={(await params).linkId} />;
}
