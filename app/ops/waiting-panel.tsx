"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { ChevronRight } from "lucide-react";
import Link from "next/link";
import { api } from "../../convex/_generated/api";
import { Panel } from "../components/panel.tsx";
import { LoadingNote, Placeholder } from "../components/states.tsx";

type Counts = FunctionReturnType<typeof api.screensOverview.waiting>;

interface Item {
  readonly name: string;
  readonly href: string;
  readonly about: (counts: Counts) => string;
  readonly count: (counts: Counts) => number;
  /** Whether somebody should look when there is one. */
  readonly isBad: boolean;
}

const ITEMS: readonly Item[] = [
  {
    name: "Open reviews",
    href: "/ops/reviews",
    about: () => "a person decides",
    count: ({ openReviews }) => openReviews,
    isBad: true,
  },
  {
    name: "Dead letters",
    href: "/ops/inbox?status=dead",
    about: () => "billing events out of attempts",
    count: ({ deadEvents }) => deadEvents,
    isBad: true,
  },
  {
    name: "Quarantined events",
    href: "/ops/inbox?status=quarantined",
    about: () => "too far from their own time",
    count: ({ quarantinedEvents }) => quarantinedEvents,
    isBad: true,
  },
  {
    name: "Events tried again",
    href: "/ops/inbox?status=failed",
    about: () => "failed, next attempt is due by itself",
    count: ({ failingEvents }) => failingEvents,
    isBad: false,
  },
  {
    name: "Alerts given up",
    href: "/ops/settings",
    about: (counts) =>
      counts.isAlertConfigured
        ? `${counted(counts.alertsWaiting, counts)} on their way`
        : "no address is set: nobody is told",
    count: ({ alertsGivenUp }) => alertsGivenUp,
    isBad: true,
  },
  {
    name: "Plan differences",
    href: "/ops/drift",
    about: () => "seen once, read again in five minutes",
    count: ({ driftSightings }) => driftSightings,
    isBad: false,
  },
];

/** What waits for somebody, each with the way to its screen. Their places are there before their numbers. */
export function WaitingPanel() {
  const counts = useQuery(api.screensOverview.waiting, {});
  return (
    <Panel id="waiting" title="Waiting for you">
      {counts === undefined && <LoadingNote what="what waits" />}
      <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
        {ITEMS.map((item) => (
          <li key={item.name}>
            <Link
              href={item.href}
              prefetch={false}
              className="flex items-center gap-3 rounded-lg border border-line p-4 hover:border-edge hover:bg-sunken"
            >
              <span className="flex min-w-0 flex-1 flex-col">
                <span className="text-sm text-muted">{item.name}</span>
                <Count item={item} counts={counts} />
                <span className="text-xs text-muted">
                  {counts === undefined ? <Placeholder /> : item.about(counts)}
                </span>
              </span>
              <ChevronRight aria-hidden className="size-4 shrink-0 text-muted" />
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Count({ item, counts }: { item: Item; counts: Counts | undefined }) {
  const count = counts === undefined ? null : item.count(counts);
  const isBad = item.isBad && count !== null && count > 0;
  return (
    <span className={`text-2xl font-semibold tabular-nums ${isBad ? "text-bad" : ""}`}>
      {counts === undefined || count === null ? <Placeholder /> : counted(count, counts)}
    </span>
  );
}

function counted(count: number, { countedMax }: Counts): string {
  return count >= countedMax ? `${countedMax} or more` : String(count);
}
