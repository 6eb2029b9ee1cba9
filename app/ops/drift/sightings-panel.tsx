"use client";

import { useQuery } from "convex/react";
import { api } from "../../../convex/_generated/api";
import { Panel } from "../../components/panel.tsx";
import { Ago } from "../../components/time.tsx";
import { OwnerLink } from "../owner-link.tsx";
import { PlanChange } from "./plan-change.tsx";

/** What was seen once. Nothing while there is none: it is the rule. */
export function SightingsPanel() {
  const sightings = useQuery(api.screensOperators.sightings, {});
  if (sightings === undefined || sightings.length === 0) return null;
  return (
    <Panel
      id="sightings"
      title="Seen once"
      about="Not believed yet: the provider may be in the middle of a change. Each is read again five minutes after the first reading."
    >
      <ul aria-label="Seen once" className="flex flex-col divide-y divide-line text-sm">
        {sightings.map((one) => (
          <li
            key={one.id}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2.5 first:pt-0 last:pb-0"
          >
            <OwnerLink account={one.account} />
            <PlanChange from={one.planKey} to={one.providerPlanKey} ended={one.endedAgreements} />
            <span className="text-muted">
              first read <Ago ms={one.firstSentAtMs} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
