import type { Metadata } from "next";
import { ReviewsScreen } from "./reviews-screen.tsx";

export const metadata: Metadata = { title: "Reviews" };

export default function ReviewsPage() {
  return <ReviewsScreen />;
}
