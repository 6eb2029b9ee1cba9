import type { Metadata } from "next";
import { LinksScreen } from "./links-screen.tsx";

export const metadata: Metadata = { title: "Links" };

export default function LinksPage() {
  return <LinksScreen />;
}
