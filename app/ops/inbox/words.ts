import type { FunctionReturnType } from "convex/server";
import type { api } from "../../../convex/_generated/api";
import type { Tone } from "../../components/badge.tsx";

export type EventView = FunctionReturnType<typeof api.screensOperators.events>["events"][number];
export type EventStatus = EventView["status"];

export const STATUSES: Record<EventStatus, { name: string; tone: Tone; about: string }> = {
  dead: {
    name: "Dead letter",
    tone: "bad",
    about: "Out of attempts, or no attempt can help. Only a replay makes it due again.",
  },
  quarantined: {
    name: "Quarantined",
    tone: "warn",
    about: "Arrived too far from its own time. Only an operator's replay makes it due.",
  },
  failed: { name: "Tried again", tone: "warn", about: "The last attempt failed; the next is due by itself." },
  received: { name: "Received", tone: "accent", about: "Stored and due." },
  processing: { name: "Processing", tone: "accent", about: "A worker has it." },
  applied: { name: "Applied", tone: "good", about: "Its effects are written." },
  ignored: { name: "Ignored", tone: "neutral", about: "Read, and there was nothing to do." },
};

export const isStatus = (text: string | null): text is EventStatus => text !== null && text in STATUSES;

/** Event types as words: "Plan changed", "User created". */
export function typeName(type: string | null): string {
  if (type === null) return "No event";
  const words = type.replace(/^customer\./, "").replaceAll(/[._]/g, " ");
  return `${words[0]?.toUpperCase() ?? ""}${words.slice(1)}`;
}
