import type { Metadata } from "next";
import { EventScreen } from "./event-screen.tsx";

export const metadata: Metadata = { title: "Billing event" };

export default async function EventPage({ params }: { params: Promise<{ eventId: string }> }) {
  const { eventId } = await params;
  return <EventScreen eventId={eventId} />;
}
