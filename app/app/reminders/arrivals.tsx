"use client";

import { useQuery } from "convex/react";
import { useEffect, useRef } from "react";
import { api } from "../../../convex/_generated/api";
import { toast } from "../../components/toast.tsx";

const SHOWN_LENGTH_MAX = 140;

/** Tells of a reminder on whichever screen its reader is when it arrives. Those of before are on their own screen. */
export function Arrivals() {
  const arrivals = useQuery(api.screensReminders.arrivals, {});
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (arrivals === undefined) return;
    const before = known.current;
    known.current = new Set([...(before ?? []), ...arrivals.newest.map(({ id }) => id)]);
    if (before === null) return;
    for (const { id, text } of arrivals.newest) {
      if (!before.has(id)) toast.done("A reminder for you", shortened(text));
    }
  }, [arrivals]);
  return null;
}

function shortened(text: string): string {
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
}
