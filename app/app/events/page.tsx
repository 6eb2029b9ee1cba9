import type { Metadata } from "next";
import { EventsScreen } from "./events-screen.tsx";

export const metadata: Metadata = { title: "Billing events" };

export default function EventsPage() {
  return <EventsScreen />;
}
