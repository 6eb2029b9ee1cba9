"use client";

import { useQuery } from "convex/react";
import { ChevronRight } from "lucide-react";
import Link from "next/link";
import { api } from "../../convex/_generated/api";
import { Panel } from "../components/panel.tsx";
import { Loading } from "../components/states.tsx";

interface Waiting {
  readonly name: string;
  readonly about: string;
  readonly href: string;
  readonly count: number;
  readonly isBad: boolean;
}

/** What waits for somebody, each with the way to its screen. */
export function WaitingPanel() {
  const waiting = useQuery(api.screensOverview.waiting, {});
  if (waiting === undefined) {
    return (
      <Panel id="waiting" title="Waiting for you">
        <Loading what="what waits" rows={2} />
      </Panel>
    );
  }
  const { countedMax } = waiting;
  const counted = (count: number): string => (count >= countedMax ? `${countedMax} or more` : String(count));
  const items: readonly Waiting[] = [
    {
      name: "Open reviews",
      about: "a person decides",
      href: "/ops/reviews",
      count: waiting.openReviews,
      isBad: waiting.openReviews > 0,
    },
    {
      name: "Dead letters",
      about: "billing events out of attempts",
      href: "/ops/inbox?status=dead",
      count: waiting.deadEvents,
      isBad: waiting.deadEvents > 0,
    },
    {
      name: "Quarantined events",
      about: "too far from their own time",
      href: "/ops/inbox?status=quarantined",
      count: waiting.quarantinedEvents,
      isBad: waiting.quarantinedEvents > 0,
    },
    {
      name: "Events tried again",
      about: "failed, next attempt is due by itself",
      href: "/ops/inbox?status=failed",
      count: waiting.failingEvents,
      isBad: false,
    },
    {
      name: "Alerts given up",
      about: waiting.isAlertConfigured
        ? `${counted(waiting.alertsWaiting)} on their way`
        : "no address is set: nobody is told",
      href: "/ops/settings",
      count: waiting.alertsGivenUp,
      isBad: waiting.alertsGivenUp > 0,
    },
    {
      name: "Plan differences",
      about: "seen once, read again in five minutes",
      href: "/ops/drift",
      count: waiting.driftSightings,
      isBad: false,
    },
  ];
  return (
    <Panel id="waiting" title="Waiting for you">
      <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
        {items.map(({ name, about, href, count, isBad }) => (
          <li key={name}>
            <Link
              href={href}
              prefetch={false}
              className="flex items-center gap-3 rounded-lg border border-line p-4 hover:border-edge hover:bg-sunken"
            >
              <span className="flex min-w-0 flex-1 flex-col">
                <span className="text-sm text-muted">{name}</span>
                <span className={`text-2xl font-semibold tabular-nums ${isBad ? "text-bad" : ""}`}>
                  {counted(count)}
                </span>
                <span className="text-xs text-muted">{about}</span>
              </span>
              <ChevronRight aria-hidden className="size-4 shrink-0 text-muted" />
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
